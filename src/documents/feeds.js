import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { createCatchUp } from './catch-up.js'
import { Feed, isExcepted } from './feed.js'
import { checkFeeds } from './idle-check.js'
import { createReplays } from './replays.js'
import { logOf } from '../wire/publication.js'

/**
 * The feeds of one worker: one per document that a connection of this worker has open.
 *
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 */

/** Logs whose ends are read in one call. */
const CHECK_BATCH = 500
/** Page size for a slow member, records. */
const SLOW_PAGE = 16

/**
 * @param {Omit<import('./feed.js').FeedDependencies, 'onBehind'> & {
 *   maxReplayBytes?: number
 * }} dependencies maxReplayBytes: see createReplays; default: no bound
 */
export function createFeeds (dependencies) {
  const { bus, createDelivery, metrics, log, maxReplayBytes = Infinity, clock, random } = dependencies
  const replays = createReplays({ bus, createDelivery, maxBytes: maxReplayBytes, metrics, clock })
  /** @type {Map<string, Feed>} bounded by the joins that connections may make */
  const feeds = new Map()
  /** Documents to compare with their logs. @type {Set<string>} */
  const unchecked = new Set()
  let checking = false
  const stopping = new AbortController()

  /** @param {Feed} feed */
  function closeIfUnused (feed) {
    if (feeds.get(feed.guid) !== feed || !feed.unused || feed.joining > 0) return
    feeds.delete(feed.guid)
    feed.close().catch((error) => {
      metrics.bus_errors.inc({ operation: 'unsubscribe' })
      log.debug({ err: error, guid: feed.guid }, 'unsubscribe failed')
    })
  }

  /**
   * Sends a member the next page of missed records, when its backlog has room.
   * @param {Feed} feed
   * @param {Member} member
   * @param {Position} have its position; advances with each record
   * @param {() => boolean} wanted
   * @param {number} [limit] records, unless other members need more; default: a page
   * @returns {Promise<null | 'epoch' | 'trimmed'>} why the log does not have that position
   */
  async function replayPage (feed, member, have, wanted, limit) {
    for (let full = member.drained(); full !== undefined; full = member.drained()) {
      // large pages only for fast members
      limit ??= SLOW_PAGE
      await full
    }
    if (!wanted()) return null
    const { records, gap, position } = await replays.read(feed.guid, have, feed.position.epoch, limit)
    // the log has another epoch than the feed: compare them
    if (position.epoch !== feed.position.epoch) feed.check(position)
    let sent = 0
    for (const { record, delivery } of records) {
      // the rest is read again later, instead of using memory
      if (!wanted() || member.drained() !== undefined) break
      if (!isExcepted(member, record.publication.except)) member.deliver(delivery)
      have.offset = record.offset
      sent++
    }
    metrics.replayed_records.inc(sent)
    return gap
  }

  const catchUp = createCatchUp({
    replayPage,
    signal: stopping.signal,
    onFailure: (error) => {
      metrics.bus_errors.inc({ operation: 'history' })
      log.debug({ err: error }, 'the log cannot be read, retrying')
    },
    log,
    clock,
    random
  })

  /** @param {string[]} guids @returns {Promise<string[]>} those that could not be compared */
  async function checkBatch (guids) {
    try {
      const ends = await bus.positions(guids)
      return guids.filter((guid, i) => {
        const end = ends[i]
        if (end !== undefined) feeds.get(guid)?.check(end)
        return end === undefined
      })
    } catch (error) {
      metrics.bus_errors.inc({ operation: 'positions' })
      log.debug({ err: error }, 'documents cannot be compared with their logs, retrying')
      return guids
    }
  }

  return {
    /**
     * Adds a member to a document. With a position, the records after it are delivered first.
     *
     * @param {string} guid
     * @param {Member} member
     * @param {Position | undefined} since advances with each record sent
     * @param {() => boolean} wanted false once the member has left or disconnected meanwhile
     * @returns {Promise<{ position: Position, recovered: boolean }>} recovered: nothing between `since` and `position`
     *   is missing; false without `since`, and after a resync
     * @throws {InkcastError} unavailable, timeout: the bus does not answer; the member was not added
     */
    async join (guid, member, since, wanted) {
      let feed = feeds.get(guid)
      if (feed === undefined) {
        feed = new Feed(guid, { ...dependencies, onBehind: catchUp })
        feeds.set(guid, feed)
      }
      feed.joining++
      try {
        const opening = feed.open()
        if (opening !== undefined) await opening
        const have = since ?? { epoch: '', offset: 0 }
        let gap = /** @type {null | 'epoch' | 'trimmed'} */ (null)
        if (since !== undefined && (since.epoch !== feed.position.epoch || since.offset !== feed.position.offset)) {
          const backoff = new Backoff({ min: 100, random })
          for (;;) {
            const { offset } = have
            gap = await replayPage(feed, member, have, wanted)
            if (have.epoch !== feed.position.epoch) gap ??= 'epoch'
            if (gap !== null || !wanted() || have.offset >= feed.position.offset) break
            // the log is behind the feed, as after a failover: retry with backoff, not in a loop
            if (have.offset === offset && member.drained() === undefined)
              await clock.sleep(backoff.next(), stopping.signal)
            else backoff.reset()
          }
        }
        // There is no await between reading the feed's position and adding the member, so no live record can come
        // between.
        const recovered = since !== undefined && gap === null
        const position = { epoch: feed.position.epoch, offset: recovered ? have.offset : feed.position.offset }
        if (wanted()) {
          feed.add(member, position.offset)
          if (gap !== null) member.resync(guid, position, gap)
          if (since !== undefined) metrics.resumes.count(gap === null ? 'recovered' : 'resync')
        }
        return { position, recovered }
      } catch (error) {
        throw error instanceof InkcastError ? error : new InkcastError('unavailable', undefined, { cause: error })
      } finally {
        feed.joining--
        // also after a failed open: all joins that waited for it have failed, and the next one retries
        closeIfUnused(feed)
      }
    },

    /**
     * Joins a document that the member has open already. Records after `since` were possibly sent before the joining
     * part of the page subscribed to them; they are not repeated, so the member must resync.
     *
     * @param {string} guid of an open document
     * @param {Member} member
     * @param {Position} since
     * @param {() => boolean} wanted false once it has left
     * @returns {Promise<{ position: Position, recovered: boolean }>} as `join`
     * @throws {InkcastError} unavailable, timeout: the bus does not answer
     */
    async resume (guid, member, since, wanted) {
      const feed = /** @type {Feed} */ (feeds.get(guid))
      const hasCome = () => since.epoch === feed.position.epoch && since.offset <= feed.position.offset
      // a position from another worker may be ahead of this feed
      const [end] = hasCome() ? [] : await bus.positions([guid])
      const position = feed.positionOf(member)
      const exists =
        hasCome() || (end?.epoch === since.epoch && end.epoch === position.epoch && end.offset >= since.offset)
      const gap = !exists ? 'epoch' : since.offset < position.offset ? 'opened' : null
      if (gap !== null && wanted()) member.resync(guid, position, gap)
      return { position, recovered: gap === null }
    },

    /** @param {string} guid @param {Member} member */
    leave (guid, member) {
      const feed = feeds.get(guid)
      if (feed?.remove(member)) closeIfUnused(feed)
    },

    /**
     * @param {string} guid
     * @param {Member} [member]
     * @returns {Position | undefined} of the feed, or of a member of it, if the document is open here
     */
    position (guid, member) {
      const feed = feeds.get(guid)
      return feed && (member === undefined ? { ...feed.position } : feed.positionOf(member))
    },

    /** @param {import('../log/bus/contract.js').BusRecord} record */
    receive (record) {
      feeds.get(/** @type {string} */ (logOf(record.publication)))?.receive(record)
    },

    /**
     * Compares documents with their logs after an interruption of live delivery; retries until it succeeds.
     * @param {Iterable<string>} guids
     */
    async check (guids) {
      for (const guid of guids) if (feeds.has(guid)) unchecked.add(guid)
      if (checking) return
      checking = true
      try {
        const backoff = new Backoff({ min: 100, random })
        while (unchecked.size > 0) {
          stopping.signal.throwIfAborted()
          const batch = [...unchecked].slice(0, CHECK_BATCH)
          // before the call: a document that is interrupted again meanwhile has to be compared again
          for (const guid of batch) unchecked.delete(guid)
          const left = await checkBatch(batch)
          // at the end of the queue: an unavailable part of the backend must not delay the others
          for (const guid of left) if (feeds.has(guid)) unchecked.add(guid)
          if (left.length < batch.length) backoff.reset()
          else await clock.sleep(backoff.next(), stopping.signal)
        }
      } finally {
        checking = false
      }
    },

    /** Compares idle documents with their logs from now on (idle-check.js). */
    start () {
      checkFeeds({ feeds, bus, metrics, log, clock, random, signal: stopping.signal }).catch((error) => {
        if (!stopping.signal.aborted) log.error({ err: error }, 'idle documents are no longer compared with their logs')
      })
    },

    /** Aborts comparisons and reads in progress. */
    stop () { stopping.abort(new InkcastError('unavailable')) },

    get size () { return feeds.size }
  }
}
