/** @typedef {import('./contract.js').Lock} Lock */

/** The browser's; not in the types of Node. @type {any} */
const browser = globalThis

/** Whether pages can see which others live: not on pages without TLS. */
export const hasWebLocks = () => browser.navigator?.locks !== undefined

/** @type {Lock} */
export const webLock = (name, signal) => new Promise((resolve, reject) => {
  browser.navigator.locks.request(name, { signal }, () => new Promise((release) => {
    resolve()
    if (signal.aborted) release(undefined)
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
  return async (name, signal) => {
    const before = holders.get(name)
    const released = new Promise((/** @type {(value?: any) => void} */ resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', resolve)
    })
    const mine = Promise.resolve(before).then(() => released)
    holders.set(name, mine)
    mine.then(() => { if (holders.get(name) === mine) holders.delete(name) })
    await before
    signal.throwIfAborted()
  }
}
