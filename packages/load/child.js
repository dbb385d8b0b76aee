/**
 * A process with commands, for its parent and for itself.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * @template {Record<string, (...args: any[]) => unknown>} Commands
 * @typedef {object} Child
 * @property {number} pid
 * @property {<C extends keyof Commands>(command: C, options?: Parameters<Commands[C]>[0],
 *   onProgress?: (done: number) => void) => Promise<Awaited<ReturnType<Commands[C]>>>} call rejects with the error of
 *   the command, and when the process ends
 * @property {() => Promise<void>} stop resolves when it has ended
 */

/** @param {URL} file which calls `serve` @returns {Child<any>} */
export function startChild (file) {
  const child = fork(fileURLToPath(file), { serialization: 'advanced' })
  let ids = 0
  /**
   * @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void,
   *   onProgress?: (done: number) => void }>}
   */
  const calls = new Map()
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.on('message', (/** @type {any} */ { id, progress, result, error }) => {
    const call = calls.get(id)
    if (progress !== undefined) return call?.onProgress?.(progress)
    calls.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(new Error(error))
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`a client process ended: ${code ?? signal}`))
    calls.clear()
  })
  return {
    pid: /** @type {number} */ (child.pid),
    call: (command, options, onProgress) => new Promise((resolve, reject) => {
      if (!child.connected) return reject(new Error('a client process has ended'))
      const id = ids++
      calls.set(id, { resolve, reject, onProgress })
      child.send({ id, command, options })
    }),
    async stop () {
      if (child.connected) child.disconnect()
      await ended
    }
  }
}

/** Time between two reports of progress, ms. */
const PROGRESS = 100

/**
 * In the process: carries out its parent's calls, and ends with it.
 * @param {Record<string, (options: any, onProgress: (done: number) => void) => unknown>} commands
 */
export function serve (commands) {
  process.on('message', async (/** @type {{ id: number, command: string, options: any }} */ { id, command, options }) => {
    let reported = 0
    const onProgress = (/** @type {number} */ progress) => {
      if (performance.now() - reported < PROGRESS) return
      reported = performance.now()
      process.send?.({ id, progress })
    }
    try {
      const result = await commands[command](options, onProgress)
      process.send?.({ id, result })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.stack : String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
}
