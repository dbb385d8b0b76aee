import { waitFor } from './wait.js'

/**
 * @typedef {import('../../src/watch/inspect/contract.js').InspectEvent & { process: string, host: string }} SeenEvent
 */

/**
 * Watches something over the admin port, until the end of the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} adminUrl
 * @param {string} query `guid=…`, `uid=…` or `trace=…`
 * @param {number} processes number of them that must have confirmed the watch
 */
export async function openWatch (t, adminUrl, query, processes) {
  const ending = new AbortController()
  const answer = await fetch(`${adminUrl}/inspect?${query}`, { signal: ending.signal })
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  /** @type {SeenEvent[]} */
  const events = []
  const reading = (async () => {
    let rest = ''
    for await (const chunk of /** @type {any} */ (answer.body)) {
      const lines = (rest + Buffer.from(chunk)).split('\n')
      rest = lines.pop() ?? ''
      events.push(...lines.map((line) => JSON.parse(line)))
    }
  })().catch(() => {})
  const stop = () => {
    ending.abort()
    return reading
  }
  t.after(stop)
  const of = (/** @type {string} */ hop) => events.filter((event) => event.hop === hop)
  await waitFor(() => of('watching').length >= processes, {
    timeout: 10_000,
    message: () => `${processes} processes to watch; ${JSON.stringify(events)}`
  })
  return {
    events,
    of,
    stop,
    /**
     * @param {string} hop
     * @param {(event: SeenEvent) => boolean} [matches]
     * @param {number} [count]
     * @returns {Promise<SeenEvent[]>} when there are as many
     */
    async seen (hop, matches = () => true, count = 1) {
      const found = () => of(hop).filter(matches)
      await waitFor(() => found().length >= count, {
        timeout: 10_000,
        message: () => `${count} of ${hop}; ${JSON.stringify(events)}`
      })
      return found()
    }
  }
}
