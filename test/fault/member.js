import { Checker } from './checker.js'

/**
 * What every kind of client knows of the documents that it follows, and how long it had to wait for their records.
 */
export class Member {
  /** @type {Map<string, Checker>} */
  documents
  connected = false
  connects = 0
  /** Tries to connect that failed or were refused, by reason. @type {Record<string, number>} */
  refusals = {}
  /** The longest time from when a record was offered to when it came, ms, since `measure`. */
  stall = 0

  /** @param {string[]} guids @param {(latency: number) => void} onRecord ms */
  constructor (guids, onRecord) {
    this.documents = new Map(guids.map((guid) => [guid, new Checker()]))
    this.onRecord = onRecord
  }

  /** @param {string} reason */
  refused (reason) {
    this.refusals[reason] = (this.refusals[reason] ?? 0) + 1
  }

  /** @returns {Record<string, import('./checker.js').Position | null>} for the handshake */
  get positions () {
    return Object.fromEntries([...this.documents].map(([guid, { resumeFrom }]) => [guid, resumeFrom]))
  }

  /** @param {{ number: number, offered: number }} payload @param {{ guid: string, offset: number }} meta */
  record ({ number, offered }, { guid, offset }) {
    if (!this.documents.get(guid)?.record(number, offset)) return
    const latency = Date.now() - offered
    if (latency > this.stall) this.stall = latency
    this.onRecord(latency)
  }

  /** @param {{ guid: string, position: import('./checker.js').Position }} answer */
  joined ({ guid, position }) {
    this.documents.get(guid)?.joined(position)
  }

  /** @param {{ guid: string, position: import('./checker.js').Position }} told */
  resync ({ guid, position }) {
    this.documents.get(guid)?.resync(position)
  }

  /** Has been told where each document stands. */
  get ready () {
    return this.connected && [...this.documents.values()].every(({ resumeFrom }) => resumeFrom !== null)
  }

  /**
   * @param {Record<string, number>} published number of the last record by document
   * @returns {number} records that have not come
   */
  missing (published) {
    let missing = 0
    for (const [guid, { last }] of this.documents) missing += Math.max(0, (published[guid] ?? 0) - last)
    return missing
  }
}
