/**
 * Clients in a process of their own, so that their CPU time is not measured. The process takes commands from its parent
 * (client-pool.js) and ends with it.
 */
import { StockClient } from './stock-client.js'
import { waitFor } from '../helpers/wait.js'

/** Clients that connect in parallel without a fault. */
const AT_ONCE = 50
const CONNECT_TIMEOUT = 60_000
/** Latency samples kept for the median. */
const MAX_SAMPLES = 20_000
/** Faults of a client that are reported in detail. */
const MAX_DETAILS = 3

/** @type {StockClient[]} */
const clients = []
/** @type {number[]} */
let samples = []
const onRecord = (/** @type {number} */ latency) => { if (samples.length < MAX_SAMPLES) samples.push(latency) }

/**
 * @typedef {object} OpenOptions
 * @property {string} url
 * @property {number} first number of the first client
 * @property {string[][]} guids of each client
 *
 * @typedef {object} ClientReport
 * @property {number} number
 * @property {number} stall ms
 * @property {number} connects
 * @property {number} received
 * @property {number} repeated
 * @property {number} resyncs
 * @property {number} bridged
 * @property {Record<string, number>} faults how many of each kind
 * @property {string[]} details of the first faults
 */

const commands = {
  /** @param {OpenOptions} options */
  async open ({ url, first, guids }) {
    for (let at = 0; at < guids.length; at += AT_ONCE) {
      const opened = guids.slice(at, at + AT_ONCE)
        .map((own, i) => new StockClient({ url, number: first + at + i, guids: own }, onRecord))
      clients.push(...opened)
      await waitFor(() => opened.every(({ ready }) => ready), {
        timeout: CONNECT_TIMEOUT,
        message: () => `${opened.filter(({ ready }) => ready).length} of ${opened.length} clients to join`
      })
    }
  },

  /** Resets the measurements. */
  measure () {
    samples = []
    for (const client of clients) {
      client.stall = client.connects = 0
      client.refusals = {}
      for (const checker of client.documents.values()) {
        checker.received = checker.repeated = checker.resyncs = checker.bridged = 0
        checker.faults = []
      }
    }
  },

  /**
   * @param {Record<string, number>} published
   * @returns {{ clients: number, connected: number, missing: number, behind: number }} behind: clients that lack at
   *   least one record
   */
  progress (published) {
    const missing = clients.map((client) => client.missing(published))
    return {
      clients: clients.length,
      connected: clients.filter(({ connected }) => connected).length,
      missing: missing.reduce((sum, each) => sum + each, 0),
      behind: missing.filter((each) => each > 0).length
    }
  },

  /** @returns {{ clients: ClientReport[], samples: number[], refusals: Record<string, number> }} */
  report () {
    /** @type {Record<string, number>} */
    const refusals = {}
    for (const client of clients)
      for (const [reason, count] of Object.entries(client.refusals)) refusals[reason] = (refusals[reason] ?? 0) + count
    return { samples, clients: clients.map(reportOf), refusals }
  },

  close () { for (const client of clients.splice(0)) client.close() }
}

/** @param {StockClient} client @param {number} number @returns {ClientReport} */
function reportOf (client, number) {
  const checkers = [...client.documents.entries()]
  const sum = (/** @type {'received' | 'repeated' | 'resyncs' | 'bridged'} */ what) =>
    checkers.reduce((total, [, checker]) => total + checker[what], 0)
  /** @type {Record<string, number>} */
  const faults = {}
  for (const [, checker] of checkers) for (const { fault } of checker.faults) faults[fault] = (faults[fault] ?? 0) + 1
  return {
    number,
    stall: client.stall,
    connects: client.connects,
    received: sum('received'),
    repeated: sum('repeated'),
    resyncs: sum('resyncs'),
    bridged: sum('bridged'),
    faults,
    details: checkers
      .flatMap(([guid, checker]) => checker.faults.map(({ fault, detail }) => `${guid}: ${fault}: ${detail}`))
      .slice(0, MAX_DETAILS)
  }
}

/** @typedef {typeof commands} Commands */

process.on(
  'message',
  async (/** @type {{ id: number, command: keyof Commands, options: any }} */ { id, command, options }) => {
    try {
      process.send?.({ id, result: await /** @type {(options: any) => unknown} */ (commands[command])(options) })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.stack : String(error) })
    }
  }
)
process.on('disconnect', () => process.exit())
