/** Maximum cells per request; the document service accepts no more. */
const AT_ONCE = 60
/** Delay before a failed request is sent again, ms. */
const PAUSE = 1000

/**
 * Sends typed text, letter by letter: the first letter at once; further ones collect during a request, so that a slow
 * connection sends fewer and larger requests instead of a queue.
 *
 * @param {object} dependencies
 * @param {import('./model.js').Model} dependencies.model
 * @param {(event: string, data: object) => Promise<unknown>} dependencies.send
 * @param {() => string} dependencies.newId
 * @param {(sentAt: number, id: string) => void} dependencies.onSent
 */
export function createEdits ({ model, send, newId, onSent }) {
  let sending = false

  async function sendAll () {
    if (sending) return
    sending = true
    try {
      for (;;) {
        const waiting = [...model.pending].filter(([, { id }]) => id === null).slice(0, AT_ONCE)
        if (waiting.length === 0) return
        const id = newId()
        for (const [, pending] of waiting) pending.id = id
        onSent(performance.now(), id)
        try {
          const cells = Object.fromEntries(waiting.map(([cell, { text }]) => [cell, text]))
          await send('sheet:edit', { id, cells, base: model.version })
        } catch (error) {
          // the request may have been accepted: sending the same text again does no harm
          for (const [, pending] of waiting) pending.id = null
          if (/** @type {any} */ (error).retryable !== true) return giveUp(waiting)
          await new Promise((resolve) => setTimeout(resolve, PAUSE))
        }
      }
    } finally {
      sending = false
    }
  }

  /** @param {[string, import('./model.js').Pending][]} waiting */
  function giveUp (waiting) {
    const id = newId()
    for (const [, pending] of waiting) pending.id = id
    model.refuse(id)
  }

  return {
    /** @param {string} cell @param {string} text */
    type (cell, text) {
      model.type(cell, text)
      sendAll()
    }
  }
}
