/**
 * One process at a time, through a file that names its owner.
 */
import { linkSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { identify, isAlive } from './process-identity.js'

/**
 * Runs `work` while holding the lock. A lock whose owner has died is taken over.
 *
 * @template T
 * @param {string} file its directory must exist
 * @param {() => Promise<T>} work
 * @param {object} [options]
 * @param {number} [options.timeoutMs] how long to wait for another owner, default 300,000
 * @param {number} [options.everyMs] default 200
 * @returns {Promise<T>}
 * @throws {Error} when the owner does not finish in time
 */
export async function withLock (file, work, { timeoutMs = 300_000, everyMs = 200 } = {}) {
  const deadline = performance.now() + timeoutMs
  while (!take(file)) {
    const owner = readOwner(file)
    if (owner === undefined || !isAlive(owner)) {
      // Two processes that see this at once may both continue. Users of the lock must tolerate that; it only saves
      // duplicate work.
      rmSync(file, { force: true })
    } else if (performance.now() > deadline) {
      throw new Error(`process ${owner.pid} holds ${file} for more than ${timeoutMs} ms`)
    } else {
      await delay(everyMs)
    }
  }
  try {
    return await work()
  } finally {
    rmSync(file, { force: true })
  }
}

/**
 * A link appears together with its content, unlike a file that is opened first and written afterwards.
 * @param {string} file
 */
function take (file) {
  const own = `${file}.${process.pid}`
  writeFileSync(own, JSON.stringify(identify(process.pid)))
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    return false
  } finally {
    unlinkSync(own)
  }
}

/**
 * @param {string} file
 * @returns {import('./process-identity.js').ProcessIdentity | undefined} undefined when it was released in the meantime
 *   or is not readable
 */
function readOwner (file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
