import { PAGE } from './feed.js'
import { Turns } from './turns.js'

/**
 * @typedef {import('../wire/position.js').Position} Position
 * @typedef {import('../log/bus/contract.js').BusRecord} BusRecord
 *
 * @typedef {object} Replay
 * @property {{ record: BusRecord, delivery: any }[]} records in order, the first right after the requested position;
 *   those replaced by newer ones of their key are missing
 * @property {null | 'epoch' | 'trimmed'} gap
 * @property {Position} position end of the log at the time of reading
 *
 * @typedef {object} Page records from + 1 to `to` of a log
 * @property {string} epoch
 * @property {number} from
 * @property {number} to of its last record; a guess while the page is being read
 * @property {boolean} reading
 * @property {number} [count] it has the newest records of the log, of this number
 * @property {Position} [end] of the log when they were read
 * @property {Promise<Replay>} replay
 */

/** How long a page is shared, ms; its bytes count until then. */
const KEEP = 1000
/** Concurrent reads. */
const MAX_READS = 16
/** Records delivered in one turn of the event loop, about 5 ms of work. */
const RECORDS_PER_TURN = 2000
/** Memory of a decoded record beside its value and the copy of it in the frame, bytes. */
const RECORD_COST = 1024

/**
 * Missed records for clients that reconnect, with shared reads of the log: a read in progress, and for one second its
 * result with its frames, serves every client whose position is within it.
 * Why: docs/internals/decisions/0051-many-clients-at-once.md
 */
export class Replays {
  /** @type {Map<string, Page[]>} by guid; bounded by maxBytes and by the joins in progress */
  #pages = new Map()
  /** Queue of reads, in order; bounded like the pages. @type {(() => void)[]} */
  #waiting = []
  #turns
  /** Reads in progress. */
  #reading = 0
  /** Of all pages. */
  #bytes = 0

  /**
   * @param {object} dependencies
   * @param {import('../log/bus/contract.js').Bus} dependencies.bus
   * @param {(record: BusRecord, replayed?: boolean) => unknown} dependencies.createDelivery
   * @param {number} dependencies.maxBytes of all pages; above it no read starts. Reads in progress may exceed it
   * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {Pick<import('../base/common/clock.js').Clock, 'timer' | 'soon'>} dependencies.clock
   */
  constructor ({ bus, createDelivery, maxBytes, metrics, clock }) {
    this.bus = bus
    this.createDelivery = createDelivery
    this.maxBytes = maxBytes
    this.metrics = metrics
    this.clock = clock
    this.#turns = new Turns(RECORDS_PER_TURN, clock)
    metrics.onCollect(() => metrics.replay_bytes.set(this.#bytes))
  }

  /**
   * The next page after a position, when its delivery may start.
   * @param {string} guid
   * @param {Position} since
   * @param {string} epoch of the live stream: pages of another log are not shared
   * @param {number} [limit] read at most this number of records, for this caller only (not shared)
   * @returns {Promise<Replay>} rejects as `history` does
   */
  async read (guid, since, epoch, limit) {
    const replay = await this.#find(guid, since, epoch, limit)
    const turn = limit === undefined ? this.#turns.take(replay.records.length) : undefined
    if (turn !== undefined) await turn
    return replay
  }

  /**
   * The newest records of a log, when their delivery may start; further pages follow with `read`. A result is shared
   * until there is a newer record.
   * @param {string} guid
   * @param {number} count
   * @param {Position} end of the live stream
   * @param {number} [limit] as of `read`
   * @returns {Promise<Replay>} rejects as `history` does
   */
  async readNewest (guid, count, end, limit) {
    const page = this.#pages.get(guid)?.find((page) => page.count === count &&
      (page.reading || (page.end?.epoch === end.epoch && page.end.offset === end.offset)))
    this.metrics.replay_pages.inc({ source: page === undefined ? 'read' : 'shared' })
    if (page === undefined && limit !== undefined) return this.#readForOne(guid, count, limit)
    const replay = await (page?.replay ?? this.#readForAll(guid, count))
    const turn = this.#turns.take(replay.records.length)
    if (turn !== undefined) await turn
    return replay
  }

  /** @param {string} guid @param {Position} since @param {string} epoch @param {number} [limit] */
  async #find (guid, since, epoch, limit) {
    for (;;) {
      const page = this.#pages.get(guid)?.find(({ epoch: of, from, to, reading }) =>
        of === since.epoch && from <= since.offset && since.offset < to && (reading || of === epoch))
      if (page === undefined) break
      const replay = await page.replay
      const isFirst = since.offset === page.from
      // a gap at an earlier position proves nothing about this one
      if (replay.gap === 'epoch' || isFirst || since.offset < page.to) {
        this.metrics.replay_pages.inc({ source: 'shared' })
        return isFirst ? replay : { ...replay, records: recordsAfter(replay.records, since.offset - page.from, since) }
      }
    }
    this.metrics.replay_pages.inc({ source: 'read' })
    return limit === undefined ? this.#readForAll(guid, since) : this.#readForOne(guid, since, limit)
  }

  /** @param {string} guid @param {Position | number} place @param {number} limit @returns {Promise<Replay>} */
  async #readForOne (guid, place, limit) {
    const { size, ...replay } = await this.#history(guid, place, limit)
    // in the next turn the records are delivered, or the member has ended
    this.clock.soon(() => this.#release(size))
    return replay
  }

  /** @param {string} guid @param {Position | number} place a position, or a number of newest records */
  #readForAll (guid, place) {
    const since = typeof place === 'number' ? { epoch: '', offset: 0 } : place
    /** @type {Page} */
    const page = {
      epoch: since.epoch,
      from: since.offset,
      // the place of the newest records is not known yet: no other read finds this page
      to: typeof place === 'number' ? 0 : since.offset + PAGE,
      reading: true,
      ...(typeof place === 'number' && { count: place }),
      replay: /** @type {any} */ (undefined)
    }
    const others = this.#pages.get(guid)
    if (others === undefined) this.#pages.set(guid, [page])
    else others.push(page)
    page.replay = this.#readPage(guid, place, page)
    return page.replay
  }

  /** @param {string} guid @param {Position | number} place @param {Page} page @returns {Promise<Replay>} */
  async #readPage (guid, place, page) {
    try {
      const { size, ...replay } = await this.#history(guid, place, page.count ?? PAGE)
      if (page.count !== undefined) {
        page.epoch = replay.position.epoch
        page.from = beginOf(replay)
        page.end = replay.position
      }
      page.to = replay.records.at(-1)?.record.offset ?? page.from
      if (size > 0) {
        this.clock.timer(KEEP, () => {
          this.#release(size)
          this.#forget(guid, page)
        }).unref()
      }
      return replay
    } catch (error) {
      page.to = page.from
      throw error
    } finally {
      page.reading = false
      if (page.to === page.from) this.#forget(guid, page)
    }
  }

  /** @param {string} guid @param {Page} page */
  #forget (guid, page) {
    const others = this.#pages.get(guid)?.filter((other) => other !== page) ?? []
    if (others.length > 0) this.#pages.set(guid, others)
    else this.#pages.delete(guid)
  }

  /**
   * Reads a page after the queue before it.
   * @param {string} guid
   * @param {Position | number} place
   * @param {number} limit
   */
  async #history (guid, place, limit) {
    await new Promise((resolve) => {
      this.#waiting.push(() => resolve(undefined))
      this.#next()
    })
    try {
      const { records, gap, position } = await (typeof place === 'number'
        ? this.bus.newest(guid, place, limit)
        : this.bus.history(guid, place, limit))
      const size = records.reduce((sum, { publication }) => sum + 2 * publication.value.length + RECORD_COST, 0)
      this.#bytes += size
      return {
        records: records.map((record) => ({ record, delivery: this.createDelivery(record, true) })),
        gap,
        position,
        size
      }
    } finally {
      this.#reading--
      this.#next()
    }
  }

  #next () {
    while (this.#reading < MAX_READS && this.#bytes < this.maxBytes && this.#waiting.length > 0) {
      this.#reading++
      this.#waiting.shift()?.()
    }
  }

  /** @param {number} size of a page that is no longer kept */
  #release (size) {
    this.#bytes -= size
    this.#next()
  }
}

/** @param {Replay} replay of the newest records @returns {number} the offset before the first of them */
export const beginOf = ({ records, position }) => records.length > 0 ? records[0].record.offset - 1 : position.offset

/**
 * @param {Replay['records']} records
 * @param {number} skip their number, if none is missing
 * @param {Position} since
 */
function recordsAfter (records, skip, { offset }) {
  let first = Math.min(skip, records.length)
  while (first > 0 && records[first - 1].record.offset > offset) first--
  return records.slice(first)
}
