import { memoryStore } from '../../../client/outbox/memory-store.js'

/** Time of a change, as IndexedDB has it, ms. */
const CHANGE = 2

/**
 * The outbox of a user's browser, which outlives pages: a page that ends in the middle of a change has made it or not.
 */
export class OutboxStores {
  /** @type {Map<string, import('../../../client/outbox/contract.js').Store>} by user */
  #browsers = new Map()

  /**
   * @param {string} uid
   * @param {import('../world/sim-process.js').SimProcess} page
   * @param {(data: any) => void} onStored
   * @returns {import('../../../client/outbox/contract.js').Store}
   */
  of (uid, page, onStored) {
    const browser = this.#browsers.get(uid) ?? memoryStore()
    this.#browsers.set(uid, browser)
    // one change after the other, each in a turn of the page
    let last = Promise.resolve()
    const later = (/** @type {() => Promise<any>} */ run) => {
      const done = last.then(() => page.clock.sleep(page.drawn.duration(CHANGE))).then(run)
      last = done.then(() => {}, () => {})
      return done
    }
    return {
      load: (key) => later(() => browser.load(key)),
      add: (key, queue, edit) => later(() => {
        const added = browser.add(key, queue, edit)
        onStored(edit.data)
        return added
      }),
      remove: (key, queue, seq) => later(() => browser.remove(key, queue, seq))
    }
  }
}
