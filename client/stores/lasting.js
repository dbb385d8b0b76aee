import { clock } from '../common/clock.js'

/** How long something without a component is kept, ms: StrictMode and changes of the page mount again at once. */
const KEEP = 200

/**
 * Something that components share: made for the first of them, ended some time after the last one.
 *
 * @template T
 * @param {(changed: () => void) => { snapshot: () => T, end: () => void }} make
 * @param {T} before the snapshot while there is none
 */
export function lasting (make, before) {
  /** @type {Set<() => void>} */
  const listeners = new Set()
  /** @type {ReturnType<typeof make> | null} */
  let made = null
  /** @type {import('../common/clock.js').Timer | undefined} */
  let timer
  return {
    /** @param {() => void} listener @returns {() => void} */
    subscribe (listener) {
      timer?.stop()
      listeners.add(listener)
      if (made === null) {
        made = make(() => { for (const each of [...listeners]) each() })
        listener()
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        timer = clock.timer(KEEP, () => {
          made?.end()
          made = null
        })
      }
    },
    snapshot: () => made === null ? before : made.snapshot(),
    before: () => before
  }
}
