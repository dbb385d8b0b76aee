import { connect } from 'inkcast/client'
import { waitFor } from './wait.js'

/**
 * An inkcast client that records its states; closed after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {import('inkcast/client').ClientOptions} [options]
 */
export function startClient (t, url, options) {
  const client = connect(url, options)
  t.after(() => client.close())
  /** @type {[string, string | undefined][]} state and the code of its reason */
  const states = []
  client.on('state', (state, reason) => { states.push([state, reason?.code]) })
  return Object.assign(client, {
    states,
    /** Without those of attempts that failed: a busy machine may get the first message too late, and tries again. */
    lastingStates: () => states.filter(([, code]) => code !== 'unavailable'),
    /** @param {string} state */
    reaches: (state) =>
      waitFor(() => client.state === state, {
        timeout: 20_000,
        message: () => `${state}; it is ${client.state}: ${client.reason?.message}`
      })
  })
}

/**
 * Opens a document and records its events.
 *
 * @param {ReturnType<typeof import('inkcast/client').connect>} client
 * @param {string} guid
 * @param {import('inkcast/client').OpenOptions} [options]
 */
export async function openDocument (client, guid, options) {
  const doc = await client.open(guid, options)
  /** @type {any[]} payloads of `message`, or names of other events */
  const seen = []
  doc.on('message', (payload) => { seen.push(payload) })
  doc.on('resync', ({ reason }) => { seen.push(`resync ${reason}`) })
  doc.on('closed', ({ code }) => { seen.push(`closed ${code}`) })
  return Object.assign(doc, {
    seen,
    /** @param {unknown} last */
    has: (last) => waitFor(() => seen.at(-1) === last, { timeout: 20_000, message: () => ({ last, seen }) })
  })
}
