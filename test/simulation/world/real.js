import timers from 'node:timers'

/** Node's own functions, taken before they are replaced: the world itself runs on them. */
export const real = {
  setTimeout: timers.setTimeout,
  clearTimeout: timers.clearTimeout,
  setInterval: timers.setInterval,
  clearInterval: timers.clearInterval,
  setImmediate: timers.setImmediate,
  clearImmediate: timers.clearImmediate,
  Date,
  now: Date.now,
  performanceNow: performance.now.bind(performance)
}
