import { InkcastError } from '../errors.js'
import { Feed, PAGE, isExcepted } from './feed.js'

/**
 * The feeds of one worker: a document has one as long as somebody here has it open.
 *
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 */

/** Ends of logs that are asked for in one go after a reconnect. */
const CHECK_BATCH = 500

/** @param {import('./feed.js').FeedDependencies} dependencies */
export function createFeeds (dependencies) {
  const { bus, createDelivery, metrics, log } = dependencies
  /** @type {Map<string, Feed>} bounded by what connections may join */
  const feeds = new Map()

  /** @param {Feed} feed */
  function closeIfUnused (feed) {
    if (feeds.get(feed.guid) !== feed || feed.members.size > 0 || feed.joining > 0) return
    feeds.delete(feed.guid)
    metrics.documents.set(feeds.size)
    feed.close().catch((error) => {
      metrics.bus_errors.inc({ operation: 'unsubscribe' })
      log.debug({ err: error, guid: feed.guid }, 'unsubscribe failed')
    })
  }

  /**
   * Sends a member the next page of what it has missed.
   * @param {Feed} feed
   * @param {Member} member
   * @param {Position} have what it has
   * @returns {Promise<Position | null>} what it has now; null: the log does not reach back that far
   */
  async function replayPage (feed, member, have) {
    const { records, gap } = await bus.history(feed.guid, have, PAGE)
    if (gap !== null || feed.position.epoch !== have.epoch) return null
    for (const record of records) {
      if (!isExcepted(member, record.publication.except)) member.deliver(createDelivery(record))
    }
    metrics.replayed_records.inc(records.length)
    return { epoch: have.epoch, offset: records.at(-1)?.offset ?? have.offset }
  }

  return {
    /**
     * Adds a member to a document. With a position, what it has missed since then is delivered first.
     *
     * @param {string} guid
     * @param {Member} member
     * @param {Position | undefined} since
     * @param {() => boolean} wanted false once the member has left or disconnected meanwhile
     * @returns {Promise<{ position: Position, recovered: boolean }>} recovered: nothing between `since` and `position`
     *   is missing; false without `since`, and when the member was told to resync
     * @throws {InkcastError} unavailable, timeout: the bus does not answer; the member was not added
     */
    async join (guid, member, since, wanted) {
      let feed = feeds.get(guid)
      if (feed === undefined) {
        feed = new Feed(guid, dependencies)
        feeds.set(guid, feed)
        metrics.documents.set(feeds.size)
      }
      feed.joining++
      try {
        await feed.open().catch((error) => {
          // a feed that never opened must not be found by the next one who joins
          if (feeds.get(guid) === feed) feeds.delete(guid)
          throw error
        })
        // Nothing is awaited between the last look at the feed's position and adding the member, so no live record
        // can come between.
        /** @type {Position | null} */
        let have = since ?? null
        if (have !== null) {
          do have = await replayPage(feed, member, have)
          while (have !== null && wanted() && have.offset < feed.position.offset)
        }
        const position = { ...(have ?? feed.position) }
        if (wanted()) {
          feed.add(member, position.offset)
          if (since !== undefined && have === null) member.resync(guid, position, since.epoch === position.epoch ? 'trimmed' : 'epoch')
        }
        return { position, recovered: have !== null }
      } catch (error) {
        throw error instanceof InkcastError ? error : new InkcastError('unavailable', undefined, { cause: error })
      } finally {
        feed.joining--
        closeIfUnused(feed)
      }
    },

    /** @param {string} guid @param {Member} member */
    leave (guid, member) {
      const feed = feeds.get(guid)
      if (feed?.remove(member)) closeIfUnused(feed)
    },

    /** @param {string} guid @returns {Position | undefined} where the feed is, if the document is open here */
    position (guid) {
      const position = feeds.get(guid)?.position
      return position && { ...position }
    },

    /** @param {import('../bus/contract.js').BusRecord} record */
    receive (record) {
      feeds.get(/** @type {string} */ (record.publication.guid))?.receive(record)
    },

    /** Compares all feeds with their logs, in batches: after live delivery was interrupted. */
    async checkAll () {
      const open = [...feeds.values()]
      for (let at = 0; at < open.length; at += CHECK_BATCH) {
        const batch = open.slice(at, at + CHECK_BATCH)
        const ends = await bus.positions(batch.map((feed) => feed.guid))
        batch.forEach((feed, i) => feed.check(ends[i]))
      }
    },

    get size () { return feeds.size }
  }
}
