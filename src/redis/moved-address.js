import { Backoff } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'

/**
 * Notices that the address of a single Redis leads to another server by now: a failover moves the address (virtual IP,
 * proxy, name), and the connections to the server before it may live on. That one cannot take writes any more: as a
 * replica it answers READONLY, or MASTERDOWN while it has no master; isolated, with `min-replicas-to-write`,
 * NOREPLICAS.
 *
 * A healthy master that simply has no replica answers the same. So a second connection asks who is there, and ours
 * leaves for another server only: nothing that waits for an answer is lost, and nothing registered anew, as long as
 * there is no better place.
 */

/** What a server answers that cannot take writes; within scripts as well. */
const CANNOT_WRITE = /^(?:READONLY|NOREPLICAS|MASTERDOWN)\b/
/** From one look to the next, ms: the first at once, then further and further apart. */
const PAUSE = { min: 250, max: 5000 }
/** So long after the last such answer the next one is looked at at once, ms. */
const CALM = 30_000

/**
 * @param {import('ioredis').Redis} redis
 * @returns {Promise<string | undefined>} what a server is called from its start to its end; undefined: it does not say
 */
export const runIdOf = async (redis) => /^run_id:(\w+)/m.exec(await redis.info('server'))?.[1]

/**
 * @param {object} dependencies
 * @param {import('ioredis').Redis} dependencies.client
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createElsewhere ({ client, log }) {
  const backoff = new Backoff(PAUSE)
  let looking = false
  let nextAt = -Infinity
  let notedAt = -Infinity

  /** @returns {Promise<string | undefined>} who is at our address now */
  async function runIdThere () {
    const probe = client.duplicate({ lazyConnect: true, retryStrategy: () => null })
    probe.on('error', () => {}) // connect rejects as well
    try {
      await probe.connect()
      return await runIdOf(probe)
    } finally {
      probe.disconnect()
    }
  }

  async function look () {
    const [here, there] = await Promise.all([runIdOf(client), runIdThere()])
    if (here === undefined || there === undefined || here === there || client.status !== 'ready') return
    log.warn('the address of redis leads to another server now: leaving the one that takes no writes')
    client.disconnect(true)
  }

  return {
    /** @param {unknown} error what any command was rejected with */
    note (error) {
      if (!(error instanceof Error) || !CANNOT_WRITE.test(error.message)) return
      const now = systemClock.monotonic()
      if (now - notedAt > CALM) {
        backoff.reset()
        nextAt = now
      }
      notedAt = now
      if (looking || now < nextAt) return
      looking = true
      // who cannot be asked is asked again
      look().catch(() => {}).finally(() => {
        looking = false
        nextAt = systemClock.monotonic() + backoff.next()
      })
    }
  }
}
