/**
 * Works on all items, several at a time, starting in their order.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} limit maximum number at the same time
 * @param {AbortSignal} signal after it aborts no item is started, and failures are ignored
 * @param {(item: T) => Promise<void>} work
 * @returns {Promise<void>} resolves when no work is in progress. Rejects with the first failure; later items are not
 *   started
 */
export async function forEachLimited (items, limit, signal, work) {
  if (items.length === 0) return
  let next = 0
  /** @type {{ error: unknown } | undefined} */
  let failure
  const runner = async () => {
    while (next < items.length && failure === undefined && !signal.aborted) {
      try {
        await work(items[next++])
      } catch (error) {
        if (!signal.aborted) failure ??= { error }
      }
    }
  }
  const runners = []
  for (let i = 0; i < limit && i < items.length; i++) runners.push(runner())
  await Promise.all(runners)
  if (failure !== undefined) throw failure.error
}
