/** The part of the time that looks may take, one after the other. */
const SHARE = 0.2
/** Maximum pause, ms: a look that takes longer has mostly waited, for a process that does not answer. */
const LONGEST_PAUSE = 2000

/**
 * A look at something that costs more than asking for it does: all who ask before it begins share one, and between two
 * there is a pause of four times what the last one took, 2 s at most. An answer is never older than its question.
 *
 * @template T
 * @param {() => Promise<T>} look
 * @param {object} dependencies
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'timer'>} dependencies.clock
 * @returns {() => Promise<T>}
 */
export function createSharedLook (look, { clock }) {
  /** The one that has not begun. @type {Promise<T> | undefined} */
  let next
  /** Until it may. @type {Promise<unknown>} */
  let pause = Promise.resolve()

  async function begin () {
    await pause
    next = undefined
    const begun = clock.monotonic()
    const looking = look()
    pause = looking
      .catch(() => {})
      .then(
        () =>
          new Promise((resolve) => {
            const ms = Math.min(LONGEST_PAUSE, (clock.monotonic() - begun) * (1 / SHARE - 1))
            clock.timer(ms, () => resolve(undefined))
          })
      )
    return looking
  }

  return () => next ??= begin()
}
