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
 * Waits for a limited time. The operation continues; its result is ignored.
 *
 * @template T, L
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {L} late result after the timeout
 * @returns {Promise<T | L>}
 */
export async function within (promise, ms, late) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const timeout = new Promise((resolve) => { timer = setTimeout(resolve, ms, late) })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
