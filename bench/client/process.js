/**
 * A process of the load generator. It does what its parent says (pool.js) and ends with it.
 */
import { createSigner } from 'fast-jwt'
import { openClients } from './open.js'
import { PollingClient } from './polling-client.js'
import { WebSocketClient } from './websocket-client.js'

const KINDS = { websocket: WebSocketClient, polling: PollingClient }
/** Source addresses, for more connections than one address has ports; Linux has all of 127.0.0.0/8. */
const SOURCES = 16

/** @type {(WebSocketClient | PollingClient)[]} */
const clients = []
/** @type {Record<string, number>} connections that were open and ended by themselves, by reason */
const lost = {}

/**
 * @typedef {object} OpenOptions
 * @property {keyof typeof KINDS} kind
 * @property {import('./websocket-client.js').Target} target
 * @property {string} secret of the tokens
 * @property {number} first number of the first client; user and document follow from it
 * @property {number} count
 * @property {number} concurrency
 * @property {number} documents among which the clients are dealt out
 * @property {number} timeoutMs
 *
 * @typedef {import('./open.js').Score & { cpuMs: number, busy: number }} OpenResult busy: share of the time, 0 to 1, in which the event loop did not wait
 */

const commands = {
  /**
   * @param {OpenOptions} options
   * @param {(done: number) => void} onProgress
   * @returns {Promise<OpenResult>}
   */
  async open ({ kind, target, secret, first, count, concurrency, documents, timeoutMs }, onProgress) {
    // signed beforehand: it is no part of what is measured
    const sign = createSigner({ key: secret, algorithm: 'HS256', expiresIn: 3_600_000 })
    const tokens = Array.from({ length: count }, (_, i) => sign({ sub: `user-${first + i}`, name: `User ${first + i}` }))
    const Client = KINDS[kind]
    const onLost = (/** @type {string} */ reason) => { lost[reason] = (lost[reason] ?? 0) + 1 }

    const cpu = process.cpuUsage()
    const loop = performance.eventLoopUtilization()
    const { score, clients: opened } = await openClients({
      count, concurrency, timeoutMs, onProgress,
      create: (i, settle) => new Client(target, {
        token: tokens[i],
        guid: `document-${(first + i) % documents}`,
        source: `127.0.1.${1 + (first + i) % SOURCES}`
      }, { onLost }, settle)
    })
    const { user, system } = process.cpuUsage(cpu)
    const { utilization } = performance.eventLoopUtilization(loop)
    clients.push(...opened)
    return { ...score, cpuMs: (user + system) / 1000, busy: utilization }
  },

  /** @returns {{ open: number, lost: Record<string, number> }} */
  status () {
    return { open: clients.length - Object.values(lost).reduce((sum, count) => sum + count, 0), lost }
  },

  close () {
    for (const client of clients.splice(0)) client.close()
    for (const reason of Object.keys(lost)) delete lost[reason]
  }
}

/** @typedef {typeof commands} Commands */

process.on('message', async (/** @type {{ id: number, command: keyof Commands, options: any }} */ { id, command, options }) => {
  let reported = 0
  const onProgress = (/** @type {number} */ done) => {
    if (performance.now() - reported < 100) return
    reported = performance.now()
    process.send?.({ id, progress: done })
  }
  try {
    process.send?.({ id, result: await commands[command](options, onProgress) })
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.stack : String(error) })
  }
})
process.on('disconnect', () => process.exit())
