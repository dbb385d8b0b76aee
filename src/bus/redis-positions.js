import { documentMeta } from '../redis/keys.js'
import { slotOf } from '../redis/slot.js'
import { hasLost } from './known-end.js'

/** Ends of logs that one call may ask for. */
const BATCH = 500

/**
 * The ends of many logs, in one call (one per slot with Redis Cluster, where a script may not touch more). A node that
 * is away is no reason not to tell those of others.
 *
 * @typedef {import('../wire/position.js').Position} Position
 *
 * @param {object} dependencies
 * @param {import('../redis/client.js').RedisConnection} dependencies.redis
 * @param {ReadonlyMap<string, import('./known-end.js').KnownEnd>} dependencies.subscribed
 * @param {(guid: string, epoch: string) => Promise<void>} dependencies.rolledBack begins another epoch
 * @param {(guid: string) => Promise<Position>} dependencies.openLog decides of a log whose end Redis may have lost
 * @returns {(guids: string[]) => Promise<(Position | null | undefined)[]>} undefined: it could not be read; rejects
 *   with what Redis says when none of them could
 */
export function createRedisPositions ({ redis, subscribed, rolledBack, openLog }) {
  /** @param {string[]} guids of one slot @returns {Promise<(Position | null)[]>} */
  async function read (guids) {
    const found = await redis.scripts.positions(guids.map(documentMeta), [])
    return Promise.all(guids.map((guid, i) => {
      const [epoch, offset, lost] = found.slice(3 * i, 3 * i + 3)
      if (epoch === null || offset === null) return null
      return lost === 1 ? openLog(guid) : { epoch: String(epoch), offset: Number(offset) }
    }))
  }

  /** @param {string[]} guids of one slot @returns {Promise<(Position | null)[]>} none before what is known of it */
  async function endsOf (guids) {
    // as it is now: what comes live while we wait may be newer than the answer
    const before = guids.map((guid) => {
      const known = subscribed.get(guid)
      return known && { ...known }
    })
    const ends = await read(guids)
    return Promise.all(ends.map(async (end, i) => {
      if (end === null || !hasLost(end, before[i])) return end
      await rolledBack(guids[i], end.epoch)
      return (await read([guids[i]]))[0]
    }))
  }

  return async (guids) => {
    /** Calls with the places of their answers, by slot the one that has room. @type {Map<number, number[]>} */
    const open = new Map()
    /** @type {number[][]} */
    const calls = []
    guids.forEach((guid, i) => {
      const slot = redis.isCluster ? slotOf(documentMeta(guid)) : 0
      let call = open.get(slot)
      if (call === undefined || call.length === BATCH) {
        call = []
        calls.push(call)
        open.set(slot, call)
      }
      call.push(i)
    })
    /** @type {(Position | null | undefined)[]} */
    const ends = Array(guids.length).fill(undefined)
    const results = await Promise.allSettled(calls.map(async (places) => {
      const found = await endsOf(places.map((i) => guids[i]))
      places.forEach((place, i) => { ends[place] = found[i] })
    }))
    const failures = results.filter((result) => result.status === 'rejected')
    if (failures.length > 0 && failures.length === results.length) throw failures[0].reason
    return ends
  }
}
