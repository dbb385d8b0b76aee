import { setTimeout as delay } from 'node:timers/promises'

/** Delay between retries, ms: grows from the first to the second. */
const PAUSE = { min: 100, max: 5000 }
/** Timeout of an answer, ms. */
const TIMEOUT = 15_000

/** @typedef {{ info: (message: string) => void, error: (message: string) => void }} Log */

/**
 * The api of inkcast: docs/api.md.
 *
 * @param {object} settings
 * @param {string} settings.url
 * @param {string} [settings.token] one of API_TOKENS
 * @param {AbortSignal} settings.signal ends all waits
 * @param {Log} settings.log
 */
export function createInkcast ({ url, token, signal, log }) {
  /** @type {Record<string, string>} */
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }

  /** @param {string} path @param {{ method?: string, headers?: Record<string, string>, body?: string }} [request] */
  async function call (path, { headers, ...request } = {}) {
    // not AbortSignal.timeout: inside AbortSignal.any, Node 20 forgets it at a garbage collection
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), TIMEOUT)
    try {
      const answer = await fetch(url + path, {
        ...request,
        headers: { ...headers, ...authorization },
        signal: AbortSignal.any([signal, late.signal])
      })
      const body = /** @type {any} */ (await answer.json().catch(() => ({})))
      return { ok: answer.ok, status: answer.status, body }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    /**
     * Retries until it is published, exactly once. A permanent refusal by inkcast is logged, and the record is dropped.
     *
     * @param {import('./service.js').Outgoing} outgoing
     * @returns {Promise<void>} rejects when the signal aborts
     */
    async publish ({ to, event, value, key, traceId, timestamp }) {
      const path =
        'guid' in to
          ? `/v1/documents/${encodeURIComponent(to.guid)}/broadcast`
          : `/v1/sockets/${encodeURIComponent(to.sid)}/send`
      const headers = {
        'content-type': 'application/json',
        'x-event': event,
        'x-trace-id': traceId,
        'x-timestamp': String(timestamp),
        'idempotency-key': key
      }
      const body = JSON.stringify(value)
      for (let pause = PAUSE.min; ; pause = Math.min(2 * pause, PAUSE.max)) {
        const problem = await call(path, { method: 'POST', headers, body }).then(readProblem, (error) => ({
          retryable: true,
          text: String(error.cause?.code ?? error.message)
        }))
        if (problem === null) return
        signal.throwIfAborted()
        log.error(
          `publishing ${event}: ${problem.text}${problem.retryable ? `, trying again in ${pause} ms` : ', given up'}`
        )
        if (!problem.retryable) return
        await delay(pause, undefined, { signal })
      }
    },

    /**
     * @param {string} guid
     * @returns {Promise<{ epoch: string, offset: number } | null>} end of the document's log; null: there is none yet
     */
    async position (guid) {
      const { body } = await call(`/v1/documents/${encodeURIComponent(guid)}/position`)
      if (!body.ok) throw new Error(`inkcast: ${body.error?.code}`)
      return body.position ?? null
    }
  }
}

/**
 * @param {{ ok: boolean, status: number, body: { error?: { code: string, retryable: boolean } } }} answer
 * @returns {{ retryable: boolean, text: string } | null}
 */
function readProblem ({ ok, status, body: { error } }) {
  if (ok) return null
  // a wrong token can be corrected: retry, so that nothing is lost
  return { retryable: status === 401 || (error?.retryable ?? status >= 500), text: error?.code ?? `status ${status}` }
}
