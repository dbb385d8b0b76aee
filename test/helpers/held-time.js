import { systemClock } from '../../src/base/common/clock.js'

/**
 * Holds the monotonic time of this process, for rates and budgets: while it is held, nothing is refilled. To be called
 * before the test starts servers, which stop by this clock.
 * @param {import('node:test').TestContext} t
 */
export function holdableTime (t) {
  const { monotonic } = systemClock
  /** @type {number | undefined} */
  let held
  t.mock.method(systemClock, 'monotonic', () => held ?? monotonic())
  const goOn = () => { held = undefined }
  t.after(goOn)
  return {
    // whole milliseconds: a sum with a fraction is rounded, so that 250 later were sometimes 249.99… later
    hold () { held = Math.ceil(monotonic()) },
    /** @param {number} ms */
    pass (ms) { if (held !== undefined) held += ms },
    goOn
  }
}

/** @param {import('node:test').TestContext} t @returns {ReturnType<typeof holdableTime>} held from now on */
export function holdTime (t) {
  const time = holdableTime(t)
  time.hold()
  return time
}
