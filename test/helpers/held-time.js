import { systemClock } from '../../src/base/common/clock.js'

/**
 * A clock whose monotonic time can stand, for rates and budgets: while it is held, nothing is refilled. It is handed to
 * what the test looks at, never set for the process: other servers of the process would lose their leases.
 * @param {{ after: (stop: () => unknown) => void }} t time goes on before what the test starts is stopped
 */
export function holdableTime (t) {
  const { monotonic } = systemClock
  /** @type {number | undefined} */
  let held
  const goOn = () => { held = undefined }
  t.after(goOn)
  return {
    /** @type {import('../../src/base/common/clock.js').Clock} */
    clock: { ...systemClock, monotonic: () => held ?? monotonic() },
    // whole milliseconds: a sum with a fraction is rounded, so that 250 later were sometimes 249.99… later
    hold () { held = Math.ceil(monotonic()) },
    /** @param {number} ms */
    pass (ms) { if (held !== undefined) held += ms },
    goOn
  }
}

/** @param {{ after: (stop: () => unknown) => void }} t @returns {ReturnType<typeof holdableTime>} held from now on */
export function holdTime (t) {
  const time = holdableTime(t)
  time.hold()
  return time
}
