/**
 * The processes of the load generator, seen as one.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {import('./process.js').Commands} Commands
 * @typedef {import('./process.js').OpenOptions} OpenOptions
 * @typedef {import('./process.js').OpenResult} OpenResult
 * @typedef {ReturnType<typeof createClientPool>} ClientPool
 */

const FILE = fileURLToPath(new URL('process.js', import.meta.url))
/** A process may have 20,000 descriptors open on many systems, and a polling client has more than one while it upgrades. */
export const MAX_CONNECTIONS = 15_000

/** @param {number} size processes */
export function createClientPool (size) {
  const processes = Array.from({ length: size }, startProcess)

  /**
   * Deals clients out to the processes and adds up what they report.
   * @param {OpenOptions} options
   * @param {(done: number) => void} onProgress
   * @returns {Promise<OpenResult>} busy: the busiest process's
   */
  async function open (options, onProgress) {
    const done = processes.map(() => 0)
    const results = await Promise.all(processes.map((client, i) => {
      const first = Math.floor(options.count * i / size)
      const count = Math.floor(options.count * (i + 1) / size) - first
      const share = { ...options, first: options.first + first, count, concurrency: Math.ceil(options.concurrency / size) }
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

  return {
    open,

    /** @returns {Promise<{ open: number, lost: Record<string, number> }>} connections still open, and those that ended by themselves */
    async status () {
      const results = await Promise.all(processes.map((client) => client.call('status')))
      return { open: results.reduce((sum, result) => sum + result.open, 0), lost: addUp(results.map((result) => result.lost)) }
    },

    /** Closes all connections. */
    async close () { await Promise.all(processes.map((client) => client.call('close'))) },

    /** Ends the processes. */
    stop () { for (const client of processes) client.stop() }
  }
}

function startProcess () {
  const child = fork(FILE, { serialization: 'advanced' })
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void, onProgress?: (done: number) => void }>} */
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
    for (const { reject } of calls.values()) reject(new Error(`a process of the load generator ended (${signal ?? code})`))
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
    stop () { child.disconnect() }
  }
}

/** @param {Record<string, number>[]} counts */
function addUp (counts) {
  /** @type {Record<string, number>} */
  const sum = {}
  for (const count of counts) for (const [name, value] of Object.entries(count)) sum[name] = (sum[name] ?? 0) + value
  return sum
}
