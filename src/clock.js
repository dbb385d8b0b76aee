/**
 * The one source of time. Parts that wait or stamp take a clock, so that tests can replace it.
 * @typedef {object} Clock
 * @property {() => number} now ms since 1970
 * @property {(ms: number, signal?: AbortSignal) => Promise<void>} sleep resolves after ms, rejects with the signal's reason
 */
import { setTimeout as delay } from 'node:timers/promises'

/** @type {Clock} */
export const systemClock = {
  now: Date.now,
  // Node rejects with an AbortError of its own that has the reason as its cause
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => { throw signal?.reason })
}
