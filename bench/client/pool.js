/**
 * The processes of the load generator, seen as one.
 */
import { startChild } from '../../packages/load/child.js'

/**
 * @typedef {import('./process.js').Commands} Commands
 * @typedef {import('./process.js').OpenOptions} OpenOptions
 * @typedef {import('./process.js').OpenResult} OpenResult
 * @typedef {import('./process.js').ReceiveResult} ReceiveResult
 */

const FILE = new URL('process.js', import.meta.url)
/**
 * Many systems limit a process to 20,000 descriptors, and a polling client has more than one during its upgrade.
 */
export const MAX_CONNECTIONS = 15_000

export class ClientPool {
  #processes

  /** @param {number} size processes */
  constructor (size) {
    this.#processes = Array.from({ length: size }, () =>
      /** @type {import('../../packages/load/child.js').Child<Commands>} */ (startChild(FILE)))
    this.pids = this.#processes.map(({ pid }) => pid)
  }

  /**
   * Distributes clients over the processes and adds up their results.
   * @param {OpenOptions} options
   * @param {(done: number) => void} onProgress
   * @returns {Promise<OpenResult>} busy: that of the busiest process
   */
  async open (options, onProgress) {
    const size = this.#processes.length
    const firstOf = (/** @type {number} */ i) => Math.floor(options.count * i / size)
    const results = await this.#callAll('open', (i) => ({
      ...options,
      first: options.first + firstOf(i),
      count: firstOf(i + 1) - firstOf(i),
      concurrency: Math.ceil(options.concurrency / size)
    }), onProgress)
    return {
      ok: sum(results.map(({ ok }) => ok)),
      failures: addUp(results.map(({ failures }) => failures)),
      latencies: results.flatMap(({ latencies }) => latencies),
      cpuMs: sum(results.map(({ cpuMs }) => cpuMs)),
      busy: Math.max(...results.map(({ busy }) => busy))
    }
  }

  /**
   * Opens more documents.
   * @param {import('../job.js').Membership} membership
   * @param {(done: number) => void} [onProgress]
   * @returns {Promise<{ joined: number, failures: Record<string, number> }>}
   */
  async join (membership, onProgress) {
    const results = await this.#callAll('join', () => membership, onProgress)
    return {
      joined: sum(results.map(({ joined }) => joined)),
      failures: addUp(results.map(({ failures }) => failures))
    }
  }

  /**
   * Starts counting the deliveries of a job, which may be produced once this has resolved.
   * @param {import('../job.js').Job} job
   * @returns {Promise<number>} number of deliveries
   */
  async expect (job) { return sum(await this.#callAll('expect', () => job)) }

  /**
   * Waits for the deliveries.
   * @param {{ quietMs: number, onProgress?: (done: number) => void }} options quietMs: after this time without a
   *   delivery the missing ones count as lost
   * @returns {Promise<Omit<ReceiveResult, 'latencies'> & { latencies: Float32Array[] }>} busy: that of the busiest
   *   process
   */
  async receive ({ quietMs, onProgress }) {
    const results = await this.#callAll('receive', () => ({ quietMs }), onProgress)
    const total = (/** @type {'expected' | 'missing' | 'doubled' | 'disordered' | 'bytes' | 'cpuMs'} */ name) =>
      sum(results.map((result) => result[name]))
    return {
      expected: total('expected'),
      missing: total('missing'),
      doubled: total('doubled'),
      disordered: total('disordered'),
      bytes: total('bytes'),
      cpuMs: total('cpuMs'),
      busy: Math.max(...results.map(({ busy }) => busy)),
      latencies: results.map(({ latencies }) => latencies)
    }
  }

  /**
   * @returns {Promise<{ open: number, lost: Record<string, number> }>} open connections, and those that were closed
   *   from outside, by reason
   */
  async status () {
    const results = await this.#callAll('status')
    return { open: sum(results.map(({ open }) => open)), lost: addUp(results.map((result) => result.lost)) }
  }

  /** Closes all connections. */
  async close () { await this.#callAll('close') }

  /** Ends the processes. */
  stop () { for (const { stop } of this.#processes) stop() }

  /**
   * @template {keyof Commands} C
   * @param {C} command
   * @param {(process: number) => Parameters<Commands[C]>[0]} [optionsOf]
   * @param {(done: number) => void} [onProgress]
   */
  #callAll (command, optionsOf, onProgress) {
    const done = this.#processes.map(() => 0)
    return Promise.all(this.#processes.map((process, i) => process.call(command, optionsOf?.(i), (progress) => {
      done[i] = progress
      onProgress?.(sum(done))
    })))
  }
}

/** @param {number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0)

/** @param {Record<string, number>[]} counts */
function addUp (counts) {
  /** @type {Record<string, number>} */
  const sum = {}
  for (const count of counts) for (const [name, value] of Object.entries(count)) sum[name] = (sum[name] ?? 0) + value
  return sum
}
