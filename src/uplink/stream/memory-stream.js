import { BATCH, FAILING, LEASE, LIMITS, MAX_REFUSED, PARTS } from './contract.js'
import { decodeRecord, encodeHead, entryOf, failing as serviceFails, full, partOf } from './entries.js'

/**
 * The stream in memory, for embedded mode.
 *
 * @typedef {import('./contract.js').StreamEntry & { place: number, bytes: number }} Stored
 *
 * @param {object} options
 * @param {readonly string[]} [options.groups]
 * @param {import('../../common/clock.js').Clock} options.clock
 * @param {{ records: number, bytes: number }} [options.limits] per part
 * @returns {import('./contract.js').UplinkStream}
 */
export function createMemoryStream ({ groups = [], clock, limits = LIMITS }) {
  const parts = Array.from({ length: PARTS }, () => new Part(groups))
  /** @type {Set<(part: number) => void>} */
  const watchers = new Set()
  /** Sequences grow over restarts, as those of Redis do. */
  const start = clock.now() * 4096

  return {
    groups,
    parts: PARTS,
    async start () {},
    async stop () { watchers.clear() },

    async append (record) {
      const number = partOf(record)
      const part = parts[number]
      const { queue } = record
      const mark = queue && JSON.stringify([record.guid, queue.uid, queue.id])
      if (queue && mark && (part.marks.get(mark) ?? 0) >= queue.number) return { duplicate: true }
      if (part.failingUntil > clock.monotonic()) throw serviceFails()
      const head = encodeHead(record)
      const bytes = Buffer.byteLength(head) + record.value.length
      if (part.entries.length >= limits.records || part.bytes + bytes > limits.bytes) throw full()
      const place = ++part.last
      part.entries.push({ place, bytes, ...entryOf(number, start + place, decodeRecord(head, record.value)) })
      part.bytes += bytes
      if (queue && mark) part.note(mark, queue.number)
      for (const watcher of watchers) clock.soon(() => watcher(number))
      return { duplicate: false }
    },

    async take (number, { group, holder }, { failing = false } = {}) {
      const part = parts[number]
      const lease = part.leases.get(group)
      const now = clock.monotonic()
      if (lease !== undefined && lease.holder !== holder && lease.until > now) return null
      part.leases.set(group, { holder, until: now + LEASE })
      if (failing) part.failingUntil = now + FAILING
      const read = part.read.get(group) ?? 0
      const end = part.batches.get(group) ?? part.endOfBatch(read)
      if (end > read) part.batches.set(group, end)
      const entries = part.entries.filter(({ place }) => place > read && place <= end)
      return {
        entries: entries.map(({ id, source, sequence, record }) => ({ id, source, sequence, record })),
        upTo: String(end)
      }
    },

    async done (number, { group, holder }, upTo) {
      const part = parts[number]
      if (part.leases.get(group)?.holder !== holder) return false
      part.read.set(group, Number(upTo))
      part.batches.delete(group)
      part.trim()
      return true
    },

    async release (number, { group, holder }) {
      const { leases } = parts[number]
      if (leases.get(group)?.holder === holder) leases.delete(group)
    },

    async keepRefused (number, entry, reason) {
      const { refused } = parts[number]
      refused.push({ entry, reason })
      if (refused.length > MAX_REFUSED) refused.shift()
    },

    watch (onAppended) {
      watchers.add(onAppended)
      return () => { watchers.delete(onAppended) }
    },

    async state () {
      return {
        records: parts.reduce((sum, { entries }) => sum + entries.length, 0),
        bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0)
      }
    }
  }
}

/** Numbers of queues that a part remembers; the oldest is dropped. */
const MAX_MARKS = 10_000

class Part {
  /** @type {Stored[]} */
  entries = []
  bytes = 0
  last = 0
  failingUntil = -Infinity
  /** The last number of each queue. @type {Map<string, number>} */
  marks = new Map()
  /** @type {Map<string, { holder: string, until: number }>} by group */
  leases = new Map()
  /** Place of the last record that a group has read. @type {Map<string, number>} */
  read = new Map()
  /** End of a batch that a group has taken. @type {Map<string, number>} */
  batches = new Map()
  /** @type {{ entry: import('./contract.js').StreamEntry, reason: string }[]} */
  refused = []

  /** @param {readonly string[]} groups */
  constructor (groups) { this.groups = groups }

  /** @param {string} mark @param {number} number */
  note (mark, number) {
    this.marks.delete(mark)
    this.marks.set(mark, number)
    if (this.marks.size > MAX_MARKS) this.marks.delete([...this.marks.keys()][0])
  }

  /** @param {number} read @returns {number} place */
  endOfBatch (read) {
    let [end, records, bytes] = [read, 0, 0]
    for (const entry of this.entries) {
      if (entry.place <= read) continue
      bytes += entry.bytes
      if (records === BATCH.records || (records > 0 && bytes > BATCH.bytes)) break
      records++
      end = entry.place
    }
    return end
  }

  trim () {
    const end = Math.min(...this.groups.map((group) => this.read.get(group) ?? 0))
    while (this.entries.length > 0 && this.entries[0].place <= end)
      this.bytes -= /** @type {Stored} */ (this.entries.shift()).bytes
  }
}
