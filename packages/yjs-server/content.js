import * as Y from 'yjs'
import { decode } from '@msgpack/msgpack'
import { KIND } from './frames.js'

/** @typedef {import('./frames.js').Frame} Frame */
/** @typedef {import('./inkcast.js').Position} Position */
/**
 * @typedef {object} Part of an update that is too large for one record
 * @property {string} id of the update
 * @property {number} index
 * @property {number} total
 * @property {Uint8Array} bytes
 */

/** Bytes of incomplete updates of one document: the oldest one is dropped first. */
const MAX_PARTS = 32 * 1024 * 1024
const MAX_TOTAL = 1024

/** The content of one document in memory: what its file says. */
export class Content {
  #doc = new Y.Doc()
  /** Incomplete updates, the oldest first. @type {Map<string, { payloads: Uint8Array[], bytes: number }>} */
  #uploads = new Map()
  #partBytes = 0
  /** Position in the gateway's log of the last record in it. @type {Position | null} */
  position = null

  /** @param {Frame[]} frames @param {boolean} damaged whether some are lost */
  constructor (frames, damaged) {
    const updates = frames.filter(({ kind }) => kind === KIND.update).map(({ payload }) => payload)
    if (updates.length > 0) Y.applyUpdate(this.#doc, Y.mergeUpdates(updates))
    for (const { kind, payload } of frames) {
      if (kind === KIND.part) this.addPart(payload)
      if (kind === KIND.dropped) this.dropParts(Buffer.from(payload).toString())
      // a lost frame may have had a record before this position: the log is read from its beginning
      if (kind === KIND.position && !damaged) this.position = JSON.parse(Buffer.from(payload).toString())
    }
  }

  /** Whether updates wait for others, which they build on. */
  get isIncomplete () { return this.#doc.store.pendingStructs !== null || this.#doc.store.pendingDs !== null }

  encode () { return Y.encodeStateAsUpdate(this.#doc) }

  /**
   * @param {Uint8Array[]} updates
   * @returns {{ news: Uint8Array | null, wrong: number }} news: what the document did not have yet, as one update;
   *   wrong: how many are no updates
   */
  apply (updates) {
    /** @type {Uint8Array[]} */
    const news = []
    let wrong = 0
    const listen = (/** @type {Uint8Array} */ update) => news.push(update)
    this.#doc.on('update', listen)
    for (const update of updates) {
      try {
        Y.decodeUpdate(update)
        Y.applyUpdate(this.#doc, update)
        // Yjs keeps it until the others are there, and does not report it
        if (this.isIncomplete) news.push(update)
      } catch {
        wrong++
      }
    }
    this.#doc.off('update', listen)
    return { news: news.length === 0 ? null : Y.mergeUpdates(news), wrong }
  }

  /**
   * @param {Uint8Array} payload a Part as msgpack
   * @returns {{ id: string, update: Uint8Array | null, dropped: string[] }} update: all parts, if this was the last
   *   one. dropped: updates that were too much
   * @throws {Error} it is no part, or parts before it are missing
   */
  addPart (payload) {
    const { id, index, total, bytes } = partOf(payload)
    const upload = this.#uploads.get(id) ?? { payloads: [], bytes: 0 }
    if (index < upload.payloads.length) return { id, update: null, dropped: [] } // it came twice
    if (index > upload.payloads.length) throw new Error('parts of the update are missing')
    this.#uploads.set(id, upload)
    upload.payloads.push(payload)
    upload.bytes += bytes.length
    this.#partBytes += bytes.length
    const dropped = []
    for (const [other] of this.#uploads) {
      if (this.#partBytes <= MAX_PARTS) break
      dropped.push(other)
      this.dropParts(other)
    }
    const isWhole = upload.payloads.length === total && !dropped.includes(id)
    return { id, update: isWhole ? Buffer.concat(upload.payloads.map((one) => partOf(one).bytes)) : null, dropped }
  }

  /** @param {string} id */
  dropParts (id) {
    this.#partBytes -= this.#uploads.get(id)?.bytes ?? 0
    this.#uploads.delete(id)
  }

  /** @returns {Frame[]} everything, without what was replaced */
  frames () {
    const parts = [...this.#uploads.values()].flatMap(({ payloads }) => payloads)
    return [
      { kind: KIND.update, payload: this.encode() },
      ...parts.map((payload) => ({ kind: KIND.part, payload })),
      ...this.position === null ? [] : [positionFrame(this.position)]
    ]
  }

  destroy () { this.#doc.destroy() }
}

/** @param {Position} position @returns {Frame} */
export const positionFrame = (position) => ({ kind: KIND.position, payload: Buffer.from(JSON.stringify(position)) })

/** @param {Uint8Array} payload @returns {Part} */
function partOf (payload) {
  const part = /** @type {any} */ (decode(payload))
  const { id, index, total, bytes } = Object(part)
  const isRight = typeof id === 'string' && /^[\w-]{1,64}$/.test(id) && Number.isSafeInteger(index) && index >= 0 &&
    Number.isSafeInteger(total) && index < total && total <= MAX_TOTAL && bytes instanceof Uint8Array
  if (!isRight) throw new Error('it is no part of an update')
  return part
}
