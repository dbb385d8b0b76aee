import { clock } from './clock.js'
import { passing } from './error.js'

/**
 * Settles as the promise does, unless the caller gives up before: with the reason of its signal, or `timeout`.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {{ signal?: AbortSignal | undefined, timeout?: number | undefined }} limits timeout: ms; default: none
 * @param {string} message of the error after the timeout
 * @returns {Promise<T>}
 */
export function within (promise, { signal, timeout }, message) {
  if (signal === undefined && timeout === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason ?? abortError())
    const timer = timeout === undefined
      ? undefined
      : clock.timer(timeout, () => reject(passing('timeout', message)))
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => {
      timer?.stop()
      signal?.removeEventListener('abort', abort)
    })
  })
}

/**
 * As the method of AbortSignal, which React Native and older browsers lack.
 * @param {AbortSignal | undefined} signal
 */
export function throwIfAborted (signal) { if (signal?.aborted) throw signal.reason ?? abortError() }

/** Before browsers had `signal.reason`. */
const abortError = () => Object.assign(new Error('aborted'), { name: 'AbortError' })

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>} rejects with the reason of the signal
 */
export const pause = (ms, signal) => new Promise((resolve, reject) => {
  const end = () => {
    timer.stop()
    signal.removeEventListener('abort', end)
    if (signal.aborted) reject(signal.reason ?? abortError())
    else resolve()
  }
  const timer = clock.timer(ms, end)
  if (signal.aborted) end()
  else signal.addEventListener('abort', end)
})
