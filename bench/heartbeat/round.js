/**
 * One round of the heartbeat benchmark: an inkcast is started, filled with idle connections and observed while they
 * live, while some of them die, and when all the others die at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { usageOf } from '../measure/processes.js'
import { quantiles, round } from '../measure/quantiles.js'
import { createIdleClients } from './clients.js'
import { KINDS, TIMEOUT, startKind } from './system.js'

/**
 * @typedef {object} HeartbeatSettings
 * @property {number} connections
 * @property {number} dying number of clients that die while the others live
 * @property {number} processes of clients
 * @property {number} windowMs observation time of living connections
 * @property {number} documents
 *
 * @typedef {object} RoundResult
 * @property {string} kind
 * @property {number} opened
 * @property {object[]} failures
 * @property {number} heapKb per connection
 * @property {number} residentKb per connection
 * @property {number} emptyCpu share of a core before there were connections, percent
 * @property {number} growingPingsPerSecond until the longest interval is reached
 * @property {number} pingsPerSecond at the longest interval
 * @property {number} cpu share of a core at the longest interval, percent
 * @property {number} lost living connections that were closed
 * @property {import('../measure/quantiles.js').Quantiles} foundAfter time from a client's death to the end of its
 *   connection, ms
 * @property {number} foundWithin advertised interval plus timeout, ms
 * @property {number} burst connections that expired at once
 * @property {number} burstMs from the first end to the last
 * @property {number} burstCpuMs
 * @property {number} burstPerSecond
 * @property {number} burstDelayMs longest delay of the event loop
 */

/** Time until every connection has reached the longest interval: two pongs for each of three steps, ms. */
const growing = (/** @type {{ min: number, max: number }} */ { min, max }) =>
  min === max ? max : 2 * (3 * min + max - min) + max

/**
 * @param {keyof typeof KINDS} kind
 * @param {HeartbeatSettings} settings
 * @param {(what: string) => void} onProgress
 * @returns {Promise<RoundResult>}
 */
export async function runRound (kind, { connections, dying, processes, windowMs, documents }, onProgress) {
  const { max } = KINDS[kind]
  const system = await startKind(kind)
  const clients = createIdleClients(processes)

  /**
   * @param {number} ms
   * @returns {Promise<{ cpu: number, pings: number, lost: number }>} percent of a core, per second, connections
   */
  async function observe (ms) {
    await clients.look()
    const [begin, before] = [performance.now(), usageOf(system.pid).cpuMs]
    await delay(ms)
    const seconds = (performance.now() - begin) / 1000
    const { cpuMs } = usageOf(system.pid)
    const { pings, lost } = await clients.look()
    return { cpu: (cpuMs - before) / seconds / 10, pings: pings / seconds, lost }
  }

  /** Waits until the dead connections are detected. */
  async function found () {
    while (await clients.waiting() > 0) await delay(250)
    return clients.look()
  }

  try {
    await delay(5000)
    const empty = await system.probe()
    const idle = await observe(20_000)
    onProgress('opening')
    const { ok, failures } = await clients.open({
      target: system.target,
      count: connections,
      concurrency: 128,
      documents
    })
    await delay(5000)
    const full = await system.probe()
    onProgress('growing')
    const young = await observe(growing(KINDS[kind]))
    onProgress('at the longest interval')
    // whole intervals: clients that connected together are pinged together
    const old = await observe(Math.max(1, Math.round(windowMs / max)) * max)
    onProgress(`${dying} die`)
    await clients.die(dying)
    const dead = await found()

    onProgress('all die')
    await clients.die(connections)
    process.kill(system.pid, 'SIGSTOP')
    // pings of this time are sent at its end, all at once, and remain unanswered
    await delay(max + 1000)
    process.kill(system.pid, 'SIGCONT')
    await delay(TIMEOUT / 2)
    await clients.look()
    await system.probe()
    const before = usageOf(system.pid).cpuMs
    const burst = await found()
    const { cpuMs } = usageOf(system.pid)
    const { delayMs } = await system.probe()
    const burstMs = burst.lastEnd - burst.firstEnd

    const each = (/** @type {'heapUsed' | 'rss'} */ name) => round((full[name] - empty[name]) / ok / 1024, 2)
    return {
      kind,
      opened: ok,
      failures,
      heapKb: each('heapUsed'),
      residentKb: each('rss'),
      emptyCpu: round(idle.cpu, 2),
      growingPingsPerSecond: round(young.pings, 1),
      pingsPerSecond: round(old.pings, 1),
      cpu: round(old.cpu, 2),
      lost: young.lost + old.lost + dead.lost,
      foundAfter: quantiles(dead.foundAfter),
      foundWithin: max + TIMEOUT,
      burst: burst.foundAfter.length,
      burstMs,
      burstCpuMs: Math.round(cpuMs - before),
      burstPerSecond: Math.round((burst.foundAfter.length / burstMs) * 1000),
      burstDelayMs: delayMs
    }
  } finally {
    clients.stop()
    await system.stop()
  }
}
