import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { startEmbedded } from '../../helpers/embedded.js'
import { DOORS, LISTENERS } from '../../helpers/doors/doors.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * One inkcast with each door, for all parts of the contract.
 *
 * @typedef {import('../../helpers/doors/door-client.js').Door} Door
 * @typedef {import('../../helpers/doors/door-client.js').DoorClient} DoorClient
 * @typedef {import('node:test').TestContext} TestContext
 * @typedef {Awaited<ReturnType<typeof startWorld>>} World
 */

/** Connections of a user: one at each door. */
export const PER_USER = DOORS.length
export const MAX_DOCUMENTS = 3
/** Largest value, and largest queue of a connection without the messages of logs, bytes. */
export const MAX_RECORD = 100_000

/**
 * @param {{ after: (stop: () => unknown) => void }} scope
 * @param {{ clock?: import('../../../src/base/common/clock.js').Clock }} [own]
 */
export async function startWorld (scope, own) {
  const { log, lines } = recordingLog()
  const inkcast = await startEmbedded(scope, {
    LISTENERS: LISTENERS.join(), AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: String(PER_USER),
    MAX_DOCUMENTS_PER_CONNECTION: String(MAX_DOCUMENTS), MAX_RECORD_BYTES: String(MAX_RECORD),
    MAX_WAITING_BYTES: String(MAX_RECORD), MAX_BYTES_PER_SECOND: String(2 * MAX_RECORD)
  }, log, own)
  let marks = 0
  const urls = { url: inkcast.url, mqttUrl: `mqtt://127.0.0.1:${inkcast.gateway.port(LISTENERS[1])}` }
  /**
   * @param {TestContext} t
   * @param {Door} door
   * @param {import('../../helpers/doors/door-client.js').Login} [login]
   * @param {string} [uid]
   * @param {object} [claims] of the token
   */
  const connect = async (t, door, login = {}, uid = randomUUID(), claims = {}) => {
    const client = await door.connect(t, urls, { token: await signToken({ sub: uid, ...claims }), ...login })
    // as services find it
    client.id ||= [...inkcast.gateway.directory.user(uid)].at(-1)?.id ?? ''
    return client
  }
  return {
    inkcast, connect,
    /** Summaries of receipts. @returns {any[]} */
    receipts: () => lines.filter(({ text }) => text.endsWith(' receipt'))
      .map(({ text }) => JSON.parse(text.slice(0, -' receipt'.length))),
    /** @param {string} guid @param {unknown} value @param {Record<string, string>} [headers] */
    async publish (guid, value, headers) {
      const { status, body } = await inkcast.post(`/v1/documents/${guid}/broadcast`, value, headers)
      assert.equal(status, 202, JSON.stringify(body))
      return body
    },
    /** Publishes a record to all connections: resolves when these have it. @param {DoorClient[]} clients */
    async toEveryone (clients) {
      const mark = `mark ${++marks}`
      assert.equal((await inkcast.post('/v1/broadcast', mark)).status, 202)
      await waitFor(() => clients.every(({ received }) => received.some(({ payload }) => payload === mark)), {
        message: () => `${mark} among ${JSON.stringify(clients.map(({ received }) => received))}`
      })
    },
    /** @param {string} method @param {string} path @returns {Promise<number>} status */
    request: async (method, path) => (await fetch(inkcast.apiUrl + path, { method })).status,
    /** @param {Parameters<typeof connect>} of @returns {Promise<string>} the code of the refusal */
    refusal: (...of) => connect(...of).then(() => 'admitted', ({ code }) => code)
  }
}
