import { Backoff, retry } from '../backoff.js'
import { InkcastError } from '../errors.js'
import { PAGE } from './feed.js'

/**
 * Members that take less than their document brings: they get nothing live, but what they missed from the log, no faster
 * than they take it, until nothing is missing.
 *
 * @typedef {import('./feed.js').Feed} Feed
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 */

/** Records that are read first; from then on twice what the member took of the last ones. */
const FIRST = 8

/**
 * @param {object} dependencies
 * @param {(feed: Feed, member: Member, have: Position, wanted: () => boolean, limit: number) => Promise<null | 'epoch' | 'trimmed'>} dependencies.replayPage
 * @param {AbortSignal} dependencies.signal ends it
 * @param {(error: unknown) => void} dependencies.onFailure the log could not be read
 * @param {import('../log.js').Log} dependencies.log
 */
export function createCatchUp ({ replayPage, signal, onFailure, log }) {
  /** @param {Feed} feed @param {Member} member @param {Position} have */
  async function catchUp (feed, member, have) {
    // not that of a later time, if it has left and joined again
    const wanted = () => feed.missingFrom(member) === have
    let limit = FIRST
    while (wanted()) {
      const { offset } = have
      const gap = await retry(async () => {
        const gap = await replayPage(feed, member, have, wanted, limit)
        // the log has less than came live, as after a failover; it is not asked in a loop
        if (gap === null && have.offset === offset && feed.position.offset > offset && wanted() && member.drained() === undefined) throw new InkcastError('unavailable')
        return have.epoch === feed.position.epoch ? gap : gap ?? 'epoch'
      }, { signal, backoff: new Backoff({ min: 100 }), onFailure })
      // Nothing is awaited from here on, so no live record can come between.
      if (!wanted()) return
      if (gap !== null || have.offset >= feed.position.offset) {
        feed.rejoin(member, gap === null ? have.offset : feed.position.offset)
        if (gap !== null) member.resync(feed.guid, { ...feed.position }, gap)
        return
      }
      limit = Math.min(PAGE, 2 * (have.offset - offset) + 1)
    }
  }

  /** @param {Feed} feed @param {Member} member that has just fallen behind @param {Position} have what it has */
  return (feed, member, have) => {
    member.fellBehind()
    catchUp(feed, member, have)
      .catch((error) => { if (!signal.aborted) log.error({ err: error, guid: feed.guid }, 'a member that was behind does not catch up') })
      .finally(() => member.caughtUp())
  }
}
