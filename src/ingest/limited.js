/**
 * Works on all items, some at a time, beginning in their order.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} limit how many at the same time
 * @param {AbortSignal} signal when it aborts nothing more is begun, and failures no longer count
 * @param {(item: T) => Promise<void>} work
 * @returns {Promise<void>} resolves when nothing is in progress any more. Rejects with the first failure; the items
 *   that were not begun by then stay so
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
