import { Backoff, retry } from '../backoff.js'
import { InkcastError } from '../errors.js'
import { Feed, PAGE, isExcepted } from './feed.js'

/**
 * The feeds of one worker: a document has one as long as somebody here has it open.
 *
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 */

/** Ends of logs that are asked for in one go. */
const CHECK_BATCH = 500

/** @param {import('./feed.js').FeedDependencies} dependencies */
export function createFeeds (dependencies) {
  const { bus, createDelivery, metrics, log } = dependencies
  /** @type {Map<string, Feed>} bounded by what connections may join */
  const feeds = new Map()
  /** Documents to be compared with their logs. @type {Set<string>} */
  const unchecked = new Set()
  let checking = false
  const stopping = new AbortController()

  /** @param {Feed} feed */
  function closeIfUnused (feed) {
    if (feeds.get(feed.guid) !== feed || feed.members.size > 0 || feed.joining > 0) return
    feeds.delete(feed.guid)
    feed.close().catch((error) => {
      metrics.bus_errors.inc({ operation: 'unsubscribe' })
      log.debug({ err: error, guid: feed.guid }, 'unsubscribe failed')
    })
  }

  /**
   * Sends a member the next page of what it has missed, no faster than it takes it.
   * @param {Feed} feed
   * @param {Member} member
   * @param {Position} have what it has
   * @param {() => boolean} wanted
   * @returns {Promise<{ offset: number, gap: null | 'epoch' | 'trimmed' }>} the offset it has now; why the log does not reach back that far
   */
  async function replayPage (feed, member, have, wanted) {
    const { records, gap, position } = await bus.history(feed.guid, have, PAGE)
    // another log than the feed's: one of them is about to notice
    if (position.epoch !== feed.position.epoch) feed.check(position)
    let { offset } = have
    for (const record of records) {
      const full = member.drained()
      if (full !== undefined) await full
      if (!wanted()) break
      if (!isExcepted(member, record.publication.except)) member.deliver(createDelivery(record))
      offset = record.offset
    }
    metrics.replayed_records.inc(offset - have.offset)
    return { offset, gap }
  }

  /** @param {string[]} guids */
  async function checkBatch (guids) {
    const ends = await retry(() => bus.positions(guids), {
      signal: stopping.signal,
      backoff: new Backoff({ min: 100 }),
      onFailure: (error) => {
        metrics.bus_errors.inc({ operation: 'positions' })
        log.debug({ err: error }, 'documents cannot be compared with their logs, trying again')
      }
    })
    guids.forEach((guid, i) => feeds.get(guid)?.check(ends[i]))
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
      }
      feed.joining++
      try {
        await feed.open()
        let { offset, gap } = { offset: since?.offset ?? 0, gap: /** @type {null | 'epoch' | 'trimmed'} */ (null) }
        if (since !== undefined && (since.epoch !== feed.position.epoch || since.offset !== feed.position.offset)) {
          do {
            ({ offset, gap } = await replayPage(feed, member, { epoch: since.epoch, offset }, wanted))
            if (since.epoch !== feed.position.epoch) gap ??= 'epoch'
          } while (gap === null && wanted() && offset < feed.position.offset)
        }
        // Nothing is awaited between the last look at the feed's position and adding the member, so no live record
        // can come between.
        const recovered = since !== undefined && gap === null
        const position = { ...feed.position, ...(recovered ? { offset } : {}) }
        if (wanted()) {
          feed.add(member, position.offset)
          if (gap !== null) member.resync(guid, position, gap)
        }
        return { position, recovered }
      } catch (error) {
        throw error instanceof InkcastError ? error : new InkcastError('unavailable', undefined, { cause: error })
      } finally {
        feed.joining--
        // also one that could not be opened: everybody who waited for it has failed by now, and the next one begins anew
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

    /**
     * Compares documents with their logs after live delivery of them was interrupted; tries until it can.
     * @param {Iterable<string>} guids
     */
    async check (guids) {
      for (const guid of guids) if (feeds.has(guid)) unchecked.add(guid)
      if (checking) return
      checking = true
      try {
        while (unchecked.size > 0) {
          const batch = [...unchecked].slice(0, CHECK_BATCH)
          // before they are asked for: what is interrupted again meanwhile has to be asked for again
          for (const guid of batch) unchecked.delete(guid)
          await checkBatch(batch)
        }
      } finally {
        checking = false
      }
    },

    /** Ends what is being compared. */
    stop () { stopping.abort(new InkcastError('unavailable')) },

    get size () { return feeds.size }
  }
}
