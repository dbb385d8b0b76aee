import { Document } from './document.js'
import { Refusal } from './errors.js'

/** Documents that are merged at the same time. */
const CONCURRENCY = 4
/** A document whose log does not change is read this often at last, ms. */
const MAX_INTERVAL = 30_000
/** A document that nobody has used for this time leaves memory, ms. */
const IDLE = 300_000

/**
 * The documents in memory. Each is merged soon after a change, and less often while it does not change. The one used
 * longest ago leaves memory for another one; its file has everything.
 *
 * @typedef {{ document: Document, interval: number, due: number, usedAt: number }} Entry
 */
export class Documents {
  #parts
  #settings
  /** The one used longest ago first. @type {Map<string, Entry>} */
  #entries = new Map()
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer
  /** @type {Promise<void> | null} */
  #running = null
  #stopped = false

  /**
   * @param {Omit<ConstructorParameters<typeof Document>[0], 'guid' | 'keep' | 'maxBytes'>} parts
   * @param {{ interval: number, keep: number, maxBytes: number, maxOpen: number, maxOpenBytes: number }} settings
   *   interval: of reading the log of a document that changes, ms. maxBytes: of a document. maxOpen, maxOpenBytes: of
   *   documents in memory
   */
  constructor (parts, settings) {
    this.#parts = parts
    this.#settings = settings
  }

  get open () { return this.#entries.size }

  /** Of the files of the documents in memory. */
  get bytes () { return [...this.#entries.values()].reduce((sum, { document }) => sum + document.bytes, 0) }

  start () {
    this.#timer = setInterval(() => {
      this.#running ??= this.#mergeDue().finally(() => { this.#running = null })
    }, Math.min(this.#settings.interval, 200))
  }

  async stop () {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#running
  }

  /** @param {string} guid @returns {Document} which is merged soon */
  use (guid) {
    const { interval, keep, maxBytes } = this.#settings
    const now = performance.now()
    let entry = this.#entries.get(guid)
    if (entry === undefined) {
      this.#makeRoom()
      const document = new Document({ ...this.#parts, guid, keep, maxBytes })
      entry = { document, interval, due: now + interval, usedAt: now }
    }
    this.#entries.delete(guid)
    this.#entries.set(guid, entry)
    entry.usedAt = now
    entry.interval = interval
    entry.due = Math.min(entry.due, now + interval)
    return entry.document
  }

  #makeRoom () {
    const { maxOpen, maxOpenBytes } = this.#settings
    let { bytes } = this
    for (const [guid, { document }] of this.#entries) {
      if (this.#entries.size < maxOpen && bytes <= maxOpenBytes) return
      if (!document.isIdle) continue
      bytes -= document.bytes
      this.#entries.delete(guid)
      this.#parts.figures.count('closed')
    }
    if (this.#entries.size < maxOpen && bytes <= maxOpenBytes) return
    this.#parts.figures.count('busy')
    throw new Refusal(503, 'all documents in memory are in use')
  }

  async #mergeDue () {
    const now = performance.now()
    const due = [...this.#entries].filter(([, entry]) => entry.due <= now)
    await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
      for (let next = due.shift(); next !== undefined && !this.#stopped; next = due.shift()) await this.#merge(...next)
    }))
  }

  /** @param {string} guid @param {Entry} entry */
  async #merge (guid, entry) {
    const { interval } = this.#settings
    try {
      const hadRecords = await entry.document.merge()
      entry.interval = hadRecords ? interval : Math.min(MAX_INTERVAL, entry.interval * 2)
      if (hadRecords) entry.usedAt = performance.now()
    } catch (error) {
      if (this.#stopped) return
      entry.interval = Math.min(MAX_INTERVAL, entry.interval * 2)
      this.#parts.figures.count('failures')
      this.#parts.log.error(`${guid}: ${/** @type {Error} */ (error).message}; trying again`)
    }
    entry.due = performance.now() + entry.interval
    if (performance.now() - entry.usedAt > IDLE && entry.document.isIdle) this.#entries.delete(guid)
  }
}
