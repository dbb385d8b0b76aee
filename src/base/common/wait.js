import { setMaxListeners } from 'node:events'

/** @typedef {Pick<import('./clock.js').Clock, 'timer'>} Timers */

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
 * @template T
 * @param {number} ms for all of `work`
 * @param {AbortSignal | undefined} signal of the caller
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @param {Timers} clock
 * @returns {Promise<T>} settles with `work`
 */
export async function withTimeLimit (ms, signal, work, clock) {
  const { controller: limit, release } = abortedWith(signal)
  const timer = clock.timer(ms, () => limit.abort(new DOMException(`not done in ${ms} ms`, 'TimeoutError')))
  try {
    return await work(limit.signal)
  } finally {
    timer.stop()
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
