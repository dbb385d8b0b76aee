/**
 * The producer's process, seen from its parent.
 */
import { startChild } from '../../packages/load/child.js'

const FILE = new URL('process.js', import.meta.url)

/** @typedef {Awaited<ReturnType<typeof startProducer>>} Producer */

/** @param {import('./process.js').Destination} destination */
export async function startProducer (destination) {
  const { pid, call, stop } =
    /** @type {import('../../packages/load/child.js').Child<import('./process.js').Commands>} */ (startChild(FILE))
  try {
    await call('connect', destination)
  } catch (error) {
    stop()
    throw error
  }
  return {
    /** @param {import('../job.js').Job} job */
    produce: (job) => call('produce', job),
    pid,
    stop
  }
}
