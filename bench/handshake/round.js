/**
 * One round of the handshake benchmark: a system is started, gets its connections, and is stopped.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { startRedis } from '../../test/services/redis.js'
import { ClientPool, MAX_CONNECTIONS } from '../client/pool.js'
import { difference, sample } from '../measure/processes.js'
import { quantiles } from '../measure/quantiles.js'

/**
 * @typedef {object} HandshakeSettings
 * @property {number} connections WebSocket handshakes per phase
 * @property {number} concurrency concurrent handshakes
 * @property {number} polling clients that start with long polling
 * @property {number} pollingConcurrency
 * @property {number} expiring connections whose tokens expire in the same second
 * @property {number} documents over which the clients are distributed
 * @property {number} workers
 * @property {string[]} [nodeArgs] for every process of the system
 * @property {number} timeoutMs
 *
 * @typedef {import('../measure/processes.js').ServerProcess & import('../measure/processes.js').Usage} Used
 *
 * @typedef {object} PhaseResult
 * @property {string} phase
 * @property {number} attempted
 * @property {number} ok
 * @property {Record<string, number>} failures by reason
 * @property {number} wallMs
 * @property {number} cpuUs of all server processes without Redis, per handshake
 * @property {number} systemUs kernel part of cpuUs
 * @property {number} redisUs
 * @property {import('../measure/quantiles.js').Quantiles} latency from the first packet to the response to doc:join, or
 *   to SUBSCRIBE
 * @property {number[]} spread connections per worker
 * @property {{ cpuUs: number, busy: number }} client of the load generator: CPU per handshake, and the share of time in
 *   which its event loop was not idle
 * @property {Used[]} processes raw
 *
 * @typedef {object} RoundResult
 * @property {string} system
 * @property {PhaseResult[]} phases
 * @property {number} open connections at the end
 * @property {Record<string, number>} lost open connections that were closed from outside, by reason
 * @property {number} residentKb growth of the resident set of all server processes per open connection
 * @property {Used[]} processes raw, from before the first connection until the end
 */

/** Work after the last response, such as garbage collection, counts as part of the handshakes. */
const SETTLE_MS = 500
/** Delay before memory is measured. */
const IDLE_MS = 3000
/** Time for the server to notice that all connections of a phase are closed. */
const CLOSE_MS = 2000

/** Time for connections to be opened before their tokens expire, s. */
const OPENED_IN = 30
/** The measurement begins this long before the tokens expire, ms. */
const LEAD_MS = 1000

/** Roles that hold connections. */
const WORKERS = new Set(['gateway', 'worker'])

/**
 * @param {import('../systems/system.js').StartSystem} start
 * @param {HandshakeSettings} settings
 * @param {(phase: string, done: number, count: number) => void} onProgress
 * @returns {Promise<RoundResult>}
 */
export async function runRound (start, settings, onProgress) {
  const secret = 'a secret for benchmarks, of more than 32 characters'
  const redis = await startRedis()
  const { workers, nodeArgs } = settings
  const system = await start({ workers, redisUrl: redis.url, secret, nodeArgs }).catch(async (error) => {
    await redis.stop()
    throw error
  })
  const clients = new ClientPool(Math.ceil((settings.connections + settings.polling) / MAX_CONNECTIONS))
  const processes = [...system.processes, { pid: redis.pid, role: 'redis' }]
  let first = 0

  /** Opens connections whose tokens expire together, and waits for their ends. @returns {Promise<PhaseResult>} */
  async function expire () {
    const { expiring: count, concurrency, documents, timeoutMs } = settings
    const expiresAt = Math.ceil(Date.now() / 1000) + OPENED_IN
    const result = await clients.open({
      kind: system.clients ?? 'websocket', target: system.target, secret, first, count, concurrency, documents, timeoutMs, expiresAt
    }, (done) => onProgress('expired', done, count))
    first += count
    await delay(expiresAt * 1000 - Date.now() - LEAD_MS)
    const before = sample(processes)
    const openBefore = (await clients.status()).open
    while ((await clients.status()).open === openBefore) await delay(10)
    const begin = performance.now()
    while ((await clients.status()).open > 0) await delay(50)
    const wallMs = performance.now() - begin
    await delay(SETTLE_MS)
    const used = difference(before, sample(processes))
    return {
      phase: 'expired',
      attempted: count,
      ok: openBefore,
      failures: result.failures,
      wallMs: Math.round(wallMs),
      ...costs(used, openBefore),
      latency: quantiles([wallMs]),
      spread: [],
      client: { cpuUs: 0, busy: 0 },
      processes: used
    }
  }

  /**
   * @param {string} phase
   * @param {'websocket' | 'polling' | import('../systems/system.js').DeviceClients} kind
   * @returns {Promise<PhaseResult>}
   */
  async function open (phase, kind) {
    const count = kind === 'polling' ? settings.polling : settings.connections
    const concurrency = kind === 'polling' ? settings.pollingConcurrency : settings.concurrency
    const { documents, timeoutMs } = settings
    const before = sample(processes)
    const begin = performance.now()
    const result = await clients.open(
      { kind, target: system.target, secret, first, count, concurrency, documents, timeoutMs },
      (done) => onProgress(phase, done, count)
    )
    const wallMs = performance.now() - begin
    await delay(SETTLE_MS)
    const used = difference(before, sample(processes))
    first += count // a different user per client
    return {
      phase,
      attempted: count,
      ok: result.ok,
      failures: result.failures,
      wallMs: Math.round(wallMs),
      ...costs(used, count),
      latency: quantiles(result.latencies),
      spread: used.filter(({ role }) => WORKERS.has(role)).map(({ descriptors }) => descriptors),
      client: { cpuUs: Math.round(result.cpuMs / count * 1000), busy: Math.round(result.busy * 100) / 100 },
      processes: used
    }
  }

  try {
    const before = sample(processes)
    const kind = system.clients ?? 'websocket'
    const phases = [await open('first', kind)]
    await clients.close()
    await delay(CLOSE_MS)
    phases.push(await open('warm', kind))
    if (settings.polling > 0 && kind === 'websocket') phases.push(await open('polling, upgraded', 'polling'))
    await delay(IDLE_MS)
    const used = difference(before, sample(processes))
    const { open: stillOpen, lost } = await clients.status()
    const residentKb = sum(used.filter(({ role }) => role !== 'redis').map((each) => each.residentKb)) / stillOpen
    if (settings.expiring > 0 && system.expires === true) {
      await clients.close()
      await delay(CLOSE_MS)
      phases.push(await expire())
    }
    return {
      system: system.name,
      phases,
      open: stillOpen,
      lost,
      residentKb: Math.round(residentKb * 10) / 10,
      processes: used
    }
  } finally {
    await clients.close().catch(() => {})
    clients.stop()
    await system.stop()
    await redis.stop()
  }
}

/**
 * @param {Used[]} used
 * @param {number} count handshakes
 */
function costs (used, count) {
  const perHandshake = (/** @type {number[]} */ values) => Math.round(sum(values) / count * 1000)
  const servers = used.filter(({ role }) => role !== 'redis')
  return {
    cpuUs: perHandshake(servers.map(({ cpuMs }) => cpuMs)),
    systemUs: perHandshake(servers.map(({ systemMs }) => systemMs)),
    redisUs: perHandshake(used.filter(({ role }) => role === 'redis').map(({ cpuMs }) => cpuMs))
  }
}

/** @param {number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0)
