/**
 * Timers that only the test moves on. (Those of node:test lose timers in Node 20 when one is cleared that has fired.)
 *
 * @param {import('node:test').TestContext} t
 */
export function manualTimers (t) {
  /** @type {Map<number, { at: number, every: number | null, action: () => void }>} in order of creation */
  const timers = new Map()
  let now = 0
  let ids = 0
  const start = (/** @type {() => void} */ action, /** @type {number} */ ms, /** @type {boolean} */ repeats) => {
    const delay = Math.max(1, Number(ms) || 0)
    timers.set(++ids, { at: now + delay, every: repeats ? delay : null, action })
    return ids
  }
  const stop = (/** @type {any} */ id) => { timers.delete(id) }
  t.mock.method(globalThis, 'setTimeout', /** @type {any} */ (
    (/** @type {() => void} */ action, /** @type {number} */ ms) => start(action, ms, false)))
  t.mock.method(globalThis, 'setInterval', /** @type {any} */ (
    (/** @type {() => void} */ action, /** @type {number} */ ms) => start(action, ms, true)))
  t.mock.method(globalThis, 'clearTimeout', /** @type {any} */ (stop))
  t.mock.method(globalThis, 'clearInterval', /** @type {any} */ (stop))

  return {
    /** @param {number} ms */
    tick (ms) {
      const end = now + ms
      for (;;) {
        let next
        for (const [id, timer] of timers)
          if (timer.at <= end && timer.at < (next?.at ?? Infinity)) next = { id, ...timer }
        if (next === undefined) break
        now = next.at
        if (next.every === null) timers.delete(next.id)
        else timers.set(next.id, { at: now + next.every, every: next.every, action: next.action })
        next.action()
      }
      now = end
    },
    /** Number of timers that have not fired. */
    get count () { return timers.size }
  }
}
