/**
 * The processes of the load generator, seen as one.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {import('./process.js').Commands} Commands
 * @typedef {import('./process.js').OpenOptions} OpenOptions
 * @typedef {import('./process.js').OpenResult} OpenResult
 * @typedef {import('./process.js').ReceiveResult} ReceiveResult
 * @typedef {ReturnType<typeof createClientPool>} ClientPool
 */

const FILE = fileURLToPath(new URL('process.js', import.meta.url))
/**
 * Many systems limit a process to 20,000 descriptors, and a polling client has more than one during its upgrade.
 */
export const MAX_CONNECTIONS = 15_000

/** @param {number} size processes */
export function createClientPool (size) {
  const processes = Array.from({ length: size }, startProcess)

  /**
   * Distributes clients over the processes and adds up their results.
   * @param {OpenOptions} options
   * @param {(done: number) => void} onProgress
   * @returns {Promise<OpenResult>} busy: that of the busiest process
   */
  async function open (options, onProgress) {
    const done = processes.map(() => 0)
    const results = await Promise.all(processes.map((client, i) => {
      const first = Math.floor(options.count * i / size)
      const count = Math.floor(options.count * (i + 1) / size) - first
      const share = {
        ...options,
        first: options.first + first,
        count,
        concurrency: Math.ceil(options.concurrency / size)
      }
      return client.call('open', share, (progress) => {
        done[i] = progress
        onProgress(done.reduce((sum, each) => sum + each, 0))
      })
    }))
    return {
      ok: results.reduce((sum, result) => sum + result.ok, 0),
      failures: addUp(results.map((result) => result.failures)),
      latencies: results.flatMap((result) => result.latencies),
      cpuMs: results.reduce((sum, result) => sum + result.cpuMs, 0),
      busy: Math.max(...results.map((result) => result.busy))
    }
  }

  /**
   * Calls all processes with the same options; each knows its part of the job.
   * @template {keyof Commands} C
   * @param {C} command
   * @param {Parameters<Commands[C]>[0]} options
   * @param {(done: number) => void} [onProgress]
   */
  function callAll (command, options, onProgress) {
    const done = processes.map(() => 0)
    return Promise.all(processes.map((client, i) => client.call(command, options, (progress) => {
      done[i] = progress
      onProgress?.(sum(done))
    })))
  }

  return {
    open,
    pids: processes.map(({ pid }) => pid),

    /**
     * Opens more documents.
     * @param {import('../job.js').Membership} membership
     * @param {(done: number) => void} [onProgress]
     * @returns {Promise<{ joined: number, failures: Record<string, number> }>}
     */
    async join (membership, onProgress) {
      const results = await callAll('join', membership, onProgress)
      return {
        joined: sum(results.map(({ joined }) => joined)),
        failures: addUp(results.map(({ failures }) => failures))
      }
    },

    /**
     * Starts counting the deliveries of a job, which may be produced once this has resolved.
     * @param {import('../job.js').Job} job
     * @returns {Promise<number>} number of deliveries
     */
    async expect (job) { return sum(await callAll('expect', job)) },

    /**
     * Waits for the deliveries.
     * @param {{ quietMs: number, onProgress?: (done: number) => void }} options quietMs: after this time without a
     *   delivery the missing ones count as lost
     * @returns {Promise<Omit<ReceiveResult, 'latencies'> & { latencies: Float32Array[] }>} busy: that of the busiest
     *   process
     */
    async receive ({ quietMs, onProgress }) {
      const results = await callAll('receive', { quietMs }, onProgress)
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
    },

    /**
     * @returns {Promise<{ open: number, lost: Record<string, number> }>} open connections, and those that were closed
     *   from outside, by reason
     */
    async status () {
      const results = await callAll('status', undefined)
      return { open: sum(results.map(({ open }) => open)), lost: addUp(results.map((result) => result.lost)) }
    },

    /** Closes all connections. */
    async close () { await callAll('close', undefined) },

    /** Ends the processes. */
    stop () { for (const client of processes) client.stop() }
  }
}

function startProcess () {
  const child = fork(FILE, { serialization: 'advanced' })
  /**
   * @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void, onProgress?: (done: number) =>
   *   void }>}
   */
  const calls = new Map()
  let lastId = 0
  child.on('message', (/** @type {any} */ { id, progress, error, result }) => {
    const call = calls.get(id)
    if (progress !== undefined) return call?.onProgress?.(progress)
    calls.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(new Error(error))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of calls.values())
      reject(new Error(`a process of the load generator ended (${signal ?? code})`))
  })

  return {
    /**
     * @template {keyof Commands} C
     * @param {C} command
     * @param {Parameters<Commands[C]>[0]} [options]
     * @param {(done: number) => void} [onProgress]
     * @returns {Promise<Awaited<ReturnType<Commands[C]>>>}
     */
    call (command, options, onProgress) {
      return new Promise((resolve, reject) => {
        const id = ++lastId
        calls.set(id, { resolve, reject, onProgress })
        child.send({ id, command, options })
      })
    },
    pid: /** @type {number} */ (child.pid),
    stop () { child.disconnect() }
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
