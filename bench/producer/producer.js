/**
 * The producer's process, seen from its parent.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('process.js', import.meta.url))

/** @typedef {Awaited<ReturnType<typeof startProducer>>} Producer */

/** @param {import('./process.js').Destination} destination */
export async function startProducer (destination) {
  const child = fork(FILE)
  const ended = once(child, 'exit').then(() => { throw new Error('the producer ended') })
  ended.catch(() => {}) // checked below, while a response is pending

  /**
   * Calls the process, one call at a time.
   * @template {keyof import('./process.js').Commands} C
   * @param {C} command
   * @param {Parameters<import('./process.js').Commands[C]>[0]} options
   * @returns {Promise<Awaited<ReturnType<import('./process.js').Commands[C]>>>}
   */
  async function call (command, options) {
    const answer = once(child, 'message')
    child.send({ command, options })
    const [{ error, result }] = await Promise.race([answer, ended])
    if (error !== undefined) throw new Error(error)
    return result
  }

  const stop = () => {
    if (child.connected) child.disconnect()
  }
  try {
    await call('connect', destination)
  } catch (error) {
    stop()
    throw error
  }
  return {
    /** @param {import('../job.js').Job} job */
    produce: (job) => call('produce', job),
    pid: /** @type {number} */ (child.pid),
    stop
  }
}
