import { setMaxListeners } from 'node:events'

/** @typedef {Pick<import('./clock.js').Clock, 'timer'>} Timers */
/** @typedef {Pick<import('./clock.js').Clock, 'timer' | 'monotonic'>} LimitClock */

/** A timer that is later shows that this process did not run for a time, ms. */
const LATE = 10

/**
 * Waits until the signal aborts at most. The operation continues; its result is ignored.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>} rejects with the signal's reason if that comes first
 */
export function unlessAborted (promise, signal) {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * A controller that also aborts when a signal does. Not `AbortSignal.any`: on Node 20 a signal that lives long keeps 60
 * bytes of each call.
 *
 * @param {AbortSignal} [signal]
 * @returns {{ controller: AbortController, release: () => void }} release: to be called when the work is done
 */
export function abortedWith (signal) {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  else if (signal !== undefined) {
    // Node warns from 11 on; here each leaves with its work
    setMaxListeners(0, signal)
    signal.addEventListener('abort', abort, { once: true })
  }
  return { controller, release: () => signal?.removeEventListener('abort', abort) }
}

/**
 * Works with a signal that aborts with the one of the caller, or with a `TimeoutError` when the time is over.
 *
 * Not `AbortSignal.timeout`: on Node 20 a garbage collection may remove the limit (nodejs/node#57736). Here the timer
 * holds it.
 *
 * Timers run before the sockets are read. After a time in which this process did not run (a busy host, a garbage
 * collection) the answer may be there, so as much time is added as the timer is late, at most `ms` in all. One turn of
 * the event loop is too short: `fetch` needs several.
 *
 * @template T
 * @param {number} ms for all of `work`
 * @param {AbortSignal | undefined} signal of the caller
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @param {LimitClock} clock
 * @returns {Promise<T>} settles with `work`
 */
export async function withTimeLimit (ms, signal, work, clock) {
  const { controller: limit, release } = abortedWith(signal)
  /** @type {import('./clock.js').Timer | undefined} */
  let timer
  const wait = (/** @type {number} */ left, /** @type {number} */ more) => {
    const due = clock.monotonic() + left
    timer = clock.timer(left, () => {
      const late = Math.min(clock.monotonic() - due, more)
      if (late > LATE) wait(late, more - late)
      else limit.abort(new DOMException(`not done in ${ms} ms`, 'TimeoutError'))
    })
  }
  wait(ms, ms)
  try {
    return await work(limit.signal)
  } finally {
    timer?.stop()
    release()
  }
}

/**
 * Waits for a limited time. The operation continues; its result is ignored.
 *
 * @template T, L
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {L} late result after the timeout
 * @param {Timers} clock
 * @returns {Promise<T | L>}
 */
export async function within (promise, ms, late, clock) {
  /** @type {import('./clock.js').Timer | undefined} */
  let timer
  const timeout = new Promise((resolve) => { timer = clock.timer(ms, () => resolve(late)) })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    timer?.stop()
  }
}
