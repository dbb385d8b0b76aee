import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { createCatchUp } from './catch-up.js'
import { Feed, isExcepted } from './feed.js'
import { checkFeeds } from './idle-check.js'
import { InterruptedFeeds } from './interrupted.js'
import { beginOf, Replays } from './replays.js'
import { logOf } from '../wire/publication.js'

/**
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 */

/** Page size for a slow member, records. */
const SLOW_PAGE = 16

/** The feeds of one worker: one per document that a connection of this worker has open. */
export class Feeds {
  /** @type {Map<string, Feed>} bounded by the joins that connections may make */
  #feeds = new Map()
  #stopping = new AbortController()
  #toCheck
  #interrupted
  #replays
  #ofFeeds

  /**
   * @param {Omit<import('./feed.js').FeedDependencies, 'onBehind'> & { maxReplayBytes?: number }} dependencies
   *   maxReplayBytes: see Replays; default: no bound
   */
  constructor (dependencies) {
    const { bus, createDelivery, maxReplayBytes: maxBytes = Infinity, metrics, log, clock, random } = dependencies
    const { signal } = this.#stopping
    this.dependencies = dependencies
    this.#toCheck = { ...dependencies, feeds: this.#feeds, signal }
    this.#interrupted = new InterruptedFeeds(this.#toCheck)
    this.#replays = new Replays({ bus, createDelivery, maxBytes, metrics, clock })
    const onBehind = createCatchUp({
      replayPage: (feed, member, have, wanted, limit) => this.#replayPage(feed, member, have, wanted, limit),
      onFailure: (error) => {
        metrics.bus_errors.inc({ operation: 'history' })
        log.debug({ err: error }, 'the log cannot be read, retrying')
      },
      signal, log, clock, random
    })
    this.#ofFeeds = { ...dependencies, onBehind }
  }

  /**
   * Adds a member to a document. With a position, the records after it are delivered first; with `last` the newest
   * ones, after the position before them.
   *
   * @param {string} guid
   * @param {Member} member
   * @param {Position | undefined} since advances with each record sent
   * @param {() => boolean} wanted false once the member has left or disconnected meanwhile
   * @param {number} [last] number of newest records; without effect if there is a position
   * @returns {Promise<{ position: Position, recovered: boolean }>} recovered: nothing between `since` and `position`
   *   is missing; false without `since`, and after a resync
   * @throws {InkcastError} unavailable, timeout: the bus does not answer; the member was not added
   */
  async join (guid, member, since, wanted, last) {
    let feed = this.#feeds.get(guid)
    if (feed === undefined) {
      feed = new Feed(guid, this.#ofFeeds)
      this.#feeds.set(guid, feed)
    }
    feed.joining++
    try {
      const opening = feed.open()
      if (opening !== undefined) await opening
      const have = since ?? { epoch: '', offset: 0 }
      const resumes = since !== undefined || last !== undefined
      let gap = /** @type {null | 'epoch' | 'trimmed'} */ (null)
      let isBehind = false
      if (since === undefined && last !== undefined) await this.#replayNewest(feed, member, have, wanted, last)
      if (resumes && (have.epoch !== feed.position.epoch || have.offset !== feed.position.offset)) {
        const { clock, random } = this.dependencies
        const backoff = new Backoff({ min: 100, random })
        for (;;) {
          const { offset } = have
          if (member.joinsBehind && member.drained(guid) !== undefined) {
            isBehind = true
            break
          }
          gap = await this.#replayPage(feed, member, have, wanted)
          if (have.epoch !== feed.position.epoch) gap ??= 'epoch'
          if (gap !== null || !wanted() || have.offset >= feed.position.offset) break
          // the log is behind the feed, as after a failover: retry with backoff, not in a loop
          if (have.offset === offset && member.drained(guid) === undefined)
            await clock.sleep(backoff.next(), this.#stopping.signal)
          else backoff.reset()
        }
      }
      // There is no await between reading the feed's position and adding the member, so no live record can come
      // between.
      const complete = resumes && gap === null
      const position = { epoch: feed.position.epoch, offset: complete ? have.offset : feed.position.offset }
      const recovered = complete && since !== undefined
      if (wanted()) {
        if (isBehind) feed.addBehind(member, have)
        else feed.add(member, position.offset)
        if (gap !== null) member.resync(guid, position, gap)
        if (since !== undefined) this.dependencies.metrics.resumes.count(gap === null ? 'recovered' : 'resync')
      }
      return { position, recovered }
    } catch (error) {
      throw error instanceof InkcastError ? error : new InkcastError('unavailable', undefined, { cause: error })
    } finally {
      feed.joining--
      // also after a failed open: all joins that waited for it have failed, and the next one retries
      this.#closeIfUnused(feed)
    }
  }

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
    const feed = /** @type {Feed} */ (this.#feeds.get(guid))
    const hasCome = () => since.epoch === feed.position.epoch && since.offset <= feed.position.offset
    // a position from another worker may be ahead of this feed
    const [end] = hasCome() ? [] : await this.dependencies.bus.positions([guid])
    const position = feed.positionOf(member)
    const exists =
      hasCome() || (end?.epoch === since.epoch && end.epoch === position.epoch && end.offset >= since.offset)
    const gap = !exists ? 'epoch' : since.offset < position.offset ? 'opened' : null
    if (gap !== null && wanted()) member.resync(guid, position, gap)
    return { position, recovered: gap === null }
  }

  /** @param {string} guid @param {Member} member */
  leave (guid, member) {
    const feed = this.#feeds.get(guid)
    if (feed?.remove(member)) this.#closeIfUnused(feed)
  }

  /**
   * @param {string} guid
   * @param {Member} [member]
   * @returns {Position | undefined} of the feed, or of a member of it, if the document is open here
   */
  position (guid, member) {
    const feed = this.#feeds.get(guid)
    return feed && (member === undefined ? { ...feed.position } : feed.positionOf(member))
  }

  /** @param {import('../log/bus/contract.js').BusRecord} record */
  receive (record) { this.#feeds.get(/** @type {string} */ (logOf(record.publication)))?.receive(record) }

  /**
   * Compares documents with their logs after an interruption of live delivery; retries until it succeeds.
   * @param {Iterable<string>} guids
   */
  check (guids) { return this.#interrupted.check(guids) }

  /** Compares idle documents with their logs from now on (idle-check.js). */
  start () {
    checkFeeds(this.#toCheck).catch((error) => {
      if (!this.#stopping.signal.aborted)
        this.dependencies.log.error({ err: error }, 'idle documents are no longer compared with their logs')
    })
  }

  /** Aborts comparisons and reads in progress. */
  stop () { this.#stopping.abort(new InkcastError('unavailable')) }

  get size () { return this.#feeds.size }

  /**
   * Sends a member the first page of the newest records, after the position before them.
   * @param {Feed} feed
   * @param {Member} member
   * @param {Position} have becomes its position, and advances with each record
   * @param {() => boolean} wanted
   * @param {number} count
   */
  async #replayNewest (feed, member, have, wanted, count) {
    const { clock, random } = this.dependencies
    const backoff = new Backoff({ min: 100, random })
    for (;;) {
      const isFull = member.drained(feed.guid) !== undefined
      const limit = isFull && member.joinsBehind ? SLOW_PAGE : await this.#room(feed, member)
      if (!wanted()) return
      const replay = await this.#replays.readNewest(feed.guid, count, feed.position, limit)
      const { epoch } = replay.position
      if (!wanted()) return
      if (epoch === feed.position.epoch) {
        Object.assign(have, { epoch, offset: beginOf(replay) })
        if (replay.records.length > 0) member.passedOver(feed.guid, { ...have })
        return this.#send(feed.guid, replay, member, have, wanted)
      }
      // the log has another epoch than the feed: compare them
      feed.check(replay.position)
      await clock.sleep(backoff.next(), this.#stopping.signal)
    }
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
  async #replayPage (feed, member, have, wanted, limit) {
    const slow = await this.#room(feed, member)
    if (!wanted()) return null
    const replay = await this.#replays.read(feed.guid, have, feed.position.epoch, limit ?? slow)
    // the log has another epoch than the feed: compare them
    if (replay.position.epoch !== feed.position.epoch) feed.check(replay.position)
    this.#send(feed.guid, replay, member, have, wanted)
    return replay.gap
  }

  /**
   * Waits until the backlog of a member has room.
   * @param {Feed} feed
   * @param {Member} member
   * @returns {Promise<number | undefined>} maximum records of its next page: large ones only for fast members
   */
  async #room ({ guid }, member) {
    let limit
    for (let full = member.drained(guid); full !== undefined; full = member.drained(guid)) {
      limit = SLOW_PAGE
      await full
    }
    return limit
  }

  /**
   * @param {string} guid
   * @param {import('./replays.js').Replay} replay
   * @param {Member} member
   * @param {Position} have its position; advances with each record
   * @param {() => boolean} wanted
   */
  #send (guid, { records }, member, have, wanted) {
    let sent = 0
    for (const { record, delivery } of records) {
      // the rest is read again later, instead of using memory
      if (!wanted() || member.drained(guid) !== undefined) break
      if (!isExcepted(member, record.publication)) member.deliver(delivery)
      have.offset = record.offset
      sent++
    }
    this.dependencies.metrics.replayed_records.inc(sent)
  }

  /** @param {Feed} feed */
  #closeIfUnused (feed) {
    if (this.#feeds.get(feed.guid) !== feed || !feed.unused || feed.joining > 0) return
    this.#feeds.delete(feed.guid)
    feed.close().catch((error) => {
      this.dependencies.metrics.bus_errors.inc({ operation: 'unsubscribe' })
      this.dependencies.log.debug({ err: error, guid: feed.guid }, 'unsubscribe failed')
    })
  }
}
