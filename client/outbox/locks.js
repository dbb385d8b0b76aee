import { throwIfAborted } from '../common/within.js'

/** @typedef {import('./contract.js').Lock} Lock */

/** The browser's; not in the types of Node. @type {any} */
const browser = globalThis

/** Whether pages can see which others live: not on pages without TLS. */
export const hasWebLocks = () => browser.navigator?.locks !== undefined

/** @type {Lock} */
export const webLock = (name, signal, wait = true) => new Promise((resolve, reject) => {
  throwIfAborted(signal)
  // Web Locks do not take both options
  const options = wait ? { signal } : { ifAvailable: true }
  browser.navigator.locks.request(name, options, (/** @type {object | null} */ lock) => new Promise((release) => {
    resolve(lock !== null)
    if (lock === null || signal.aborted) release(undefined)
    else signal.addEventListener('abort', release)
  })).catch(reject)
})

/**
 * Names among the clients of one process.
 * @returns {Lock}
 */
export function processLock () {
  /** The last one that has a name, or waits for it. @type {Map<string, Promise<void>>} */
  const holders = new Map()
  return async (name, signal, wait = true) => {
    const before = holders.get(name)
    if (before !== undefined && !wait) return false
    const released = new Promise((/** @type {(value?: any) => void} */ resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', resolve)
    })
    const mine = Promise.resolve(before).then(() => released)
    holders.set(name, mine)
    mine.then(() => { if (holders.get(name) === mine) holders.delete(name) })
    await before
    throwIfAborted(signal)
    return true
  }
}
