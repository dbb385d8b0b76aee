/**
 * Opens many clients with limited concurrency, and collects the results.
 */

/**
 * @typedef {object} Score
 * @property {number} ok
 * @property {Record<string, number>} failures by reason
 * @property {number[]} latencies of successes, in order of completion, ms
 *
 * @typedef {{ close: () => void, fail: (reason: string) => void }} Client
 */

/**
 * @template {Client} C
 * @param {object} options
 * @param {number} options.count
 * @param {number} options.concurrency connections being opened at any time
 * @param {number} options.timeoutMs per client
 * @param {(index: number, settle: (error: Error | null) => void) => C} options.create
 * @param {(done: number) => void} options.onProgress
 * @returns {Promise<{ score: Score, clients: Map<number, C> }>} clients: the open ones, by index
 */
export async function openClients ({ count, concurrency, timeoutMs, create, onProgress }) {
  /** @type {Score} */
  const score = { ok: 0, failures: {}, latencies: [] }
  /** @type {Map<number, C>} */
  const clients = new Map()
  let started = 0
  let done = 0

  const lane = async () => {
    while (started < count) {
      const begin = performance.now()
      const index = started++
      try {
        clients.set(index, await openOne(index, create, timeoutMs))
        score.ok++
        score.latencies.push(performance.now() - begin)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        score.failures[reason] = (score.failures[reason] ?? 0) + 1
      }
      onProgress(++done)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, lane))
  return { score, clients }
}

/**
 * @template {Client} C
 * @param {number} index
 * @param {(index: number, settle: (error: Error | null) => void) => C} create
 * @param {number} timeoutMs
 * @returns {Promise<C>}
 */
function openOne (index, create, timeoutMs) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => client.fail(`no response within ${timeoutMs} ms`), timeoutMs)
    const client = create(index, (error) => {
      clearTimeout(timer)
      if (error === null) resolve(client)
      else reject(error)
    })
  })
}
