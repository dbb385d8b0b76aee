import { Backoff } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'
import { InkcastError } from '../common/errors.js'
import { createCatchUp } from './catch-up.js'
import { Feed, isExcepted } from './feed.js'
import { checkIdle } from './idle-check.js'
import { createReplays } from './replays.js'

/**
 * The feeds of one worker: a document has one as long as somebody here has it open.
 *
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 */

/** Ends of logs that are asked for in one go. */
const CHECK_BATCH = 500
/** Records read at a time for a member that could not take what it was sent. */
const SLOW_PAGE = 16

/**
 * @param {Omit<import('./feed.js').FeedDependencies, 'onBehind'> & {
 *   maxReplayBytes?: number
 *   clock?: import('../common/clock.js').Clock
 * }} dependencies maxReplayBytes: see createReplays; default: no bound
 */
export function createFeeds (dependencies) {
  const { bus, createDelivery, metrics, log, maxReplayBytes = Infinity, clock = systemClock } = dependencies
  const replays = createReplays({ bus, createDelivery, maxBytes: maxReplayBytes, metrics })
  /** @type {Map<string, Feed>} bounded by what connections may join */
  const feeds = new Map()
  /** Documents to be compared with their logs. @type {Set<string>} */
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
   * Sends a member the next page of what it has missed, no faster than it takes it.
   * @param {Feed} feed
   * @param {Member} member
   * @param {Position} have what it has; moves on with each record
   * @param {() => boolean} wanted
   * @param {number} [limit] records, if others need no more; default: a page
   * @returns {Promise<null | 'epoch' | 'trimmed'>} why the log does not reach back that far
   */
  async function replayPage (feed, member, have, wanted, limit) {
    for (let full = member.drained(); full !== undefined; full = member.drained()) {
      // large pages are for who takes them
      limit ??= SLOW_PAGE
      await full
    }
    if (!wanted()) return null
    const { records, gap, position } = await replays.read(feed.guid, have, feed.position.epoch, limit)
    // another log than the feed's: one of them is about to notice
    if (position.epoch !== feed.position.epoch) feed.check(position)
    const { offset } = have
    for (const { record, delivery } of records) {
      // what it cannot take now is read again, rather than kept for as long as that takes
      if (!wanted() || member.drained() !== undefined) break
      if (!isExcepted(member, record.publication.except)) member.deliver(delivery)
      have.offset = record.offset
    }
    metrics.replayed_records.inc(have.offset - offset)
    return gap
  }

  const catchUp = createCatchUp({
    replayPage,
    signal: stopping.signal,
    onFailure: (error) => {
      metrics.bus_errors.inc({ operation: 'history' })
      log.debug({ err: error }, 'the log cannot be read, trying again')
    },
    log,
    clock
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
      log.debug({ err: error }, 'documents cannot be compared with their logs, trying again')
      return guids
    }
  }

  return {
    /**
     * Adds a member to a document. With a position, what it has missed since then is delivered first.
     *
     * @param {string} guid
     * @param {Member} member
     * @param {Position | undefined} since moves on with what is sent
     * @param {() => boolean} wanted false once the member has left or disconnected meanwhile
     * @returns {Promise<{ position: Position, recovered: boolean }>} recovered: nothing between `since` and `position`
     *   is missing; false without `since`, and when the member was told to resync
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
          const backoff = new Backoff({ min: 100 })
          for (;;) {
            const { offset } = have
            gap = await replayPage(feed, member, have, wanted)
            if (have.epoch !== feed.position.epoch) gap ??= 'epoch'
            if (gap !== null || !wanted() || have.offset >= feed.position.offset) break
            // the log has less than the feed, as after a failover; it is not asked in a loop
            if (have.offset === offset && member.drained() === undefined)
              await clock.sleep(backoff.next(), stopping.signal)
            else backoff.reset()
          }
        }
        // Nothing is awaited between the last look at the feed's position and adding the member, so no live record
        // can come between.
        const recovered = since !== undefined && gap === null
        const position = { epoch: feed.position.epoch, offset: recovered ? have.offset : feed.position.offset }
        if (wanted()) {
          feed.add(member, position.offset)
          if (gap !== null) member.resync(guid, position, gap)
        }
        return { position, recovered }
      } catch (error) {
        throw error instanceof InkcastError ? error : new InkcastError('unavailable', undefined, { cause: error })
      } finally {
        feed.joining--
        // also one that could not be opened: everybody who waited for it has failed by now, and the next one begins
        // anew
        closeIfUnused(feed)
      }
    },

    /**
     * Tells a member from where it gets what comes when it asks for a document that it has open. It may have been sent
     * what came after `since` before the part of it that asks now listened, so that is not repeated: it has to resync.
     *
     * @param {string} guid that is open
     * @param {Member} member
     * @param {Position} since
     * @param {() => boolean} wanted false once it has left
     * @returns {Promise<{ position: Position, recovered: boolean }>} as `join`
     * @throws {InkcastError} unavailable, timeout: the bus does not answer
     */
    async resume (guid, member, since, wanted) {
      const feed = /** @type {Feed} */ (feeds.get(guid))
      const hasCome = () => since.epoch === feed.position.epoch && since.offset <= feed.position.offset
      // who heard of it elsewhere may be ahead of what has come here
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
     * @returns {Position | undefined} where the feed is, or a member of it, if the document is open here
     */
    position (guid, member) {
      const feed = feeds.get(guid)
      return feed && (member === undefined ? { ...feed.position } : feed.positionOf(member))
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
        const backoff = new Backoff({ min: 100 })
        while (unchecked.size > 0) {
          stopping.signal.throwIfAborted()
          const batch = [...unchecked].slice(0, CHECK_BATCH)
          // before they are asked for: what is interrupted again meanwhile has to be asked for again
          for (const guid of batch) unchecked.delete(guid)
          const left = await checkBatch(batch)
          // behind the others, which a part of the backend that is away must not hold up
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
      checkIdle({ feeds, bus, metrics, log, clock, signal: stopping.signal }).catch((error) => {
        if (!stopping.signal.aborted) log.error({ err: error }, 'idle documents are no longer compared with their logs')
      })
    },

    /** Ends what is being compared. */
    stop () { stopping.abort(new InkcastError('unavailable')) },

    get size () { return feeds.size }
  }
}
