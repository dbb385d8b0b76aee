import { byId } from './dom.js'

/** Time without a connection, s. */
const AWAY = 4

/**
 * The button that cuts the connection and then counts the records of that time: every record has a number, so it can be
 * shown that none is missing.
 *
 * @param {object} dependencies
 * @param {any} dependencies.client
 * @param {any} dependencies.doc
 */
export function createDrop ({ client, doc }) {
  const button = byId('drop', HTMLButtonElement)
  const story = byId('drop-story')
  /** @type {{ from: { epoch: string, offset: number }, seen: Set<number> } | null} */
  let away = null
  let timer = 0

  button.addEventListener('click', () => {
    if (away !== null) return
    away = { from: doc.position, seen: new Set() }
    button.disabled = true
    client.drop(AWAY * 1000)
    count(AWAY)
  })

  /** @param {number} seconds */
  function count (seconds) {
    story.dataset.result = 'away'
    story.textContent = seconds > 0
      ? `Cut at record ${away?.from.offset}. Reconnecting in ${seconds} s, while others continue.`
      : 'Reconnecting…'
    if (seconds > 0) timer = setTimeout(() => count(seconds - 1), 1000)
  }

  doc.on('resync', () =>
    end(
      'resynced',
      'The gap was too long for the log, so the page has loaded the document again: nothing is missing.'
    )
  )
  doc.on('joined', (/** @type {{ position: { epoch: string, offset: number } }} */ { position }) => {
    if (away === null) return
    const { from, seen } = away
    const due = position.offset - from.offset
    let caught = 0
    for (let offset = from.offset + 1; offset <= position.offset; offset++) if (seen.has(offset)) caught++
    const missed = due - caught
    end(
      missed === 0 ? 'whole' : 'missed',
      due === 0
        ? 'Back. There was no record meanwhile; bring in guests, or type in another tab, and try again.'
        : `Back: ${caught} ${caught === 1 ? 'record' : 'records'} caught up (${from.offset + 1} to ${position.offset}), ${missed} missed.`
    )
  })

  /** @param {string} result @param {string} text */
  function end (result, text) {
    if (away === null) return
    away = null
    clearTimeout(timer)
    button.disabled = false
    story.dataset.result = result
    story.textContent = text
  }

  return {
    /** @param {number | undefined} offset of a received record */
    record (offset) { if (offset !== undefined) away?.seen.add(offset) }
  }
}
