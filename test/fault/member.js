import { Checker } from './checker.js'

/**
 * State that every kind of client keeps: its documents, and the longest wait for a record.
 */
export class Member {
  /** @type {Map<string, Checker>} */
  documents
  connected = false
  connects = 0
  /** Failed or refused connection attempts, by reason. @type {Record<string, number>} */
  refusals = {}
  /** Longest time from the first publish attempt of a record to its arrival, ms, since `measure`. */
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

  /** Connected, and knows its position in each document. */
  get ready () {
    return this.connected && [...this.documents.values()].every(({ resumeFrom }) => resumeFrom !== null)
  }

  /**
   * @param {Record<string, number>} published number of the last record by document
   * @returns {number} records that have not arrived
   */
  missing (published) {
    let missing = 0
    for (const [guid, { last }] of this.documents) missing += Math.max(0, (published[guid] ?? 0) - last)
    return missing
  }
}
