import { Content, positionFrame } from './content.js'
import { Refusal } from './errors.js'
import { KIND } from './frames.js'

/** Name of the records that are Yjs updates, as inkcast-yjs sends them. */
export const UPDATE = 'yjs'
/** Asks pages to load the document again, and to send what it lacks. */
export const LOAD = 'yjs:load'
/** Tasks of one document that wait: more are refused for now. */
const MAX_TASKS = 64
/** Events of this document that were stored, for repeated requests. */
const MAX_EVENTS = 1000
/** A snapshot is written when this much follows the last one, and as much as it has itself, bytes. */
const MIN_APPENDED = 65_536

/** @typedef {import('./inkcast.js').Position} Position */
/** @typedef {import('./frames.js').Frame} Frame */
/**
 * @typedef {object} Incoming an update of a page
 * @property {string} id of the event
 * @property {'update' | 'part'} kind
 * @property {Uint8Array} payload the update, or a part as msgpack
 * @property {(update: Uint8Array, documentBytes: number) => Promise<string | null>} check reason to refuse it, or null
 *
 * @typedef {{ stored: true, isWhole: boolean, isIncomplete: boolean } | { stored: false, reason: string }} Outcome
 *   isWhole: the last part of an update. isIncomplete: updates before it are missing
 */

/** One document: its file, and its content in memory. The disk has all that it confirms. */
export class Document {
  #parts
  /** @type {{ file: Awaited<ReturnType<import('./store.js').Store['open']>>['file'], content: Content } | null} */
  #open = null
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve()
  #tasks = 0
  /** A read of the log that has not begun. @type {Promise<void> | null} */
  #nextRead = null
  /** A write has failed: whether the disk has what the file shows is unknown. */
  #doubtful = false
  /** Memory may be ahead of the disk. */
  #ahead = false
  /** Updates are lost: pages are asked for them. */
  #lacks = false
  /** @type {Set<string>} */
  #events = new Set()
  /** @type {Position | null} */
  #cutAt = null
  /** @type {Uint8Array | null} */
  #encoded = null

  /**
   * @param {object} parts
   * @param {string} parts.guid
   * @param {import('./store.js').Store} parts.store
   * @param {Pick<import('./inkcast.js').Inkcast, 'position' | 'history' | 'notify' | 'cut'>} parts.inkcast
   * @param {import('./log.js').Log} parts.log
   * @param {import('./figures.js').Figures} parts.figures
   * @param {number} parts.keep records that stay in the log, for pages that reconnect
   * @param {number} parts.maxBytes of the document: larger, and updates are refused
   */
  constructor (parts) {
    this.#parts = parts
    this.guid = parts.guid
  }

  /** Whether nothing waits for it. */
  get isIdle () { return this.#tasks === 0 }

  /** Bytes of its file. */
  get bytes () { return this.#open?.file.length ?? 0 }

  /** Stores updates in their order. @param {Incoming[]} incoming @returns {Promise<Outcome[]>} */
  add = (incoming) => this.#alone(async () => {
    /** @type {Outcome[]} */
    const outcomes = []
    /** @type {Frame[]} */
    const frames = []
    this.#ahead = true
    for (const one of incoming) outcomes.push(await this.#take(one, frames))
    await this.#write(frames)
    incoming.forEach(({ id }, i) => { if (outcomes[i].stored) this.#remember(id) })
    return outcomes
  })

  /**
   * Reads the gateway's log up to its end.
   * @returns {Promise<{ update: Uint8Array | null, position: Position | null }>} the document, with the position of the
   *   last record in it; null: there is none
   */
  async read () {
    if (this.#nextRead === null) {
      const next = this.#alone(async () => {
        this.#nextRead = null
        await this.#catchUp()
      })
      this.#nextRead = next
      next.catch(() => { if (this.#nextRead === next) this.#nextRead = null })
    }
    await this.#nextRead
    return this.#alone(async () => {
      const { file, content } = await this.#opened()
      if (!file.exists) return { update: null, position: content.position }
      this.#encoded ??= content.encode()
      return { update: this.#encoded, position: content.position }
    })
  }

  /** Stores new records, and cuts the log. @returns {Promise<boolean>} whether there were any */
  merge = () => this.#alone(async () => {
    const { inkcast, keep } = this.#parts
    const hadRecords = await this.#catchUp()
    const { file, content: { position } } = await this.#opened()
    // a log without Yjs is not cut
    if (!file.exists || position === null) return hadRecords
    const since = this.#cutAt?.epoch === position.epoch ? this.#cutAt.offset : 0
    if (position.offset - keep > since) {
      await inkcast.cut(this.guid, { epoch: position.epoch, offset: position.offset - keep })
      this.#cutAt = { epoch: position.epoch, offset: position.offset - keep }
    }
    return hadRecords
  })

  /** @template T @param {() => Promise<T>} action @returns {Promise<T>} after the ones before */
  #alone (action) {
    if (this.#tasks >= MAX_TASKS) {
      this.#parts.figures.count('busy')
      return Promise.reject(new Refusal(503, `${this.guid}: ${MAX_TASKS} requests wait`))
    }
    this.#tasks++
    const result = this.#turn.then(action).catch((error) => {
      if (this.#ahead || this.#doubtful) this.#forget()
      throw error
    })
    this.#turn = result.catch(() => {}).then(() => { this.#tasks-- })
    return result
  }

  #forget () {
    this.#open?.content.destroy()
    this.#open = null
    this.#encoded = null
    this.#ahead = false
  }

  async #opened () {
    if (this.#open !== null) return this.#open
    const { file, frames, damaged } = await this.#parts.store.open(this.guid)
    const content = new Content(frames, damaged)
    if (damaged) {
      this.#parts.log.error(`${this.guid}: its file was damaged, and a copy is kept beside it as .damaged`)
      this.#lacks = true
    }
    if (damaged || (this.#doubtful && file.exists)) await file.replace(content.frames())
    this.#doubtful = false
    this.#open = { file, content }
    return this.#open
  }

  /** @param {Incoming} one @param {Frame[]} frames takes what is to be stored @returns {Promise<Outcome>} */
  async #take ({ id, kind, payload, check }, frames) {
    const { content } = await this.#opened()
    if (this.#events.has(id)) return { stored: true, isWhole: kind === 'part', isIncomplete: false }
    let update = /** @type {Uint8Array | null} */ (payload)
    if (kind === 'part') {
      try {
        const added = content.addPart(payload)
        frames.push({ kind: KIND.part, payload })
        for (const dropped of added.dropped) frames.push(droppedFrame(dropped))
        update = added.update
        if (update !== null) {
          content.dropParts(added.id)
          frames.push(droppedFrame(added.id))
        }
      } catch {
        return { stored: true, isWhole: false, isIncomplete: true }
      }
      if (update === null) return { stored: true, isWhole: false, isIncomplete: false }
    }
    const reason = await this.#reasonAgainst(/** @type {Uint8Array} */ (update), check, frames)
    if (reason !== null) return { stored: false, reason }
    const { news, wrong } = content.apply([/** @type {Uint8Array} */ (update)])
    if (wrong > 0) return { stored: false, reason: 'it is no Yjs update' }
    if (news !== null) frames.push({ kind: KIND.update, payload: news })
    return { stored: true, isWhole: kind === 'part', isIncomplete: content.isIncomplete }
  }

  /**
   * @param {Uint8Array} update @param {Incoming['check']} check @param {Frame[]} frames not written yet
   * @returns {Promise<string | null>}
   */
  async #reasonAgainst (update, check, frames) {
    const { maxBytes, figures } = this.#parts
    const { file } = await this.#opened()
    const size = () => file.length + frames.reduce((sum, { payload }) => sum + payload.length, 0)
    // what was deleted or replaced may be in the file still
    if (size() + update.length > maxBytes && file.appended > 0) {
      await this.#write(frames.splice(0))
      await this.#snapshot()
    }
    if (size() + update.length > maxBytes) {
      figures.count('too_large')
      return `the document has ${size()} bytes, and may have ${maxBytes}`
    }
    return check(update, size())
  }

  /** @param {Frame[]} frames resolves when the disk has them */
  async #write (frames) {
    const { file } = await this.#opened()
    if (frames.length > 0) {
      this.#encoded = null
      this.#doubtful = true
      await file.append(frames)
      this.#doubtful = false
    }
    this.#ahead = false
    if (file.appended > Math.max(MIN_APPENDED, file.base)) await this.#snapshot()
  }

  async #snapshot () {
    const { file, content } = await this.#opened()
    if (!file.exists) return
    this.#doubtful = true
    await file.replace(content.frames())
    this.#doubtful = false
    this.#parts.figures.count('snapshots')
  }

  /** @returns {Promise<boolean>} whether there were records */
  async #catchUp () {
    const { inkcast, log, figures } = this.#parts
    const { file, content } = await this.#opened()
    const before = content.position
    /** @type {Uint8Array[]} */
    const updates = []
    let [isIncomplete, count] = [false, 0]
    let at = before ?? await this.#start()
    while (at !== null) {
      const { position: end, gap, records } = await inkcast.history(this.guid, at)
      if (end === null) {
        at = null // expired: pages that load now begin with the next log
      } else if (gap === 'epoch') {
        at = { epoch: end.epoch, offset: 0 }
      } else {
        isIncomplete ||= gap === 'trimmed'
        const rest = gap === 'trimmed' ? (await inkcast.history(this.guid, null)).records : records
        for (const { event, value } of rest)
          if (event === UPDATE && value instanceof Uint8Array) updates.push(value)
        count += rest.length
        at = { epoch: end.epoch, offset: rest.at(-1)?.offset ?? end.offset }
        if (at.offset >= end.offset) break
      }
    }
    this.#ahead = true
    const { news, wrong } = content.apply(updates)
    if (wrong > 0) figures.count('wrong_records', wrong)
    content.position = at
    const hasMoved = at?.epoch !== before?.epoch || at?.offset !== before?.offset
    await this.#write([
      ...news === null ? [] : [{ kind: KIND.update, payload: news }],
      ...at !== null && hasMoved && (file.exists || news !== null) ? [positionFrame(at)] : []
    ])
    this.#lacks ||= isIncomplete
    if (this.#lacks && file.exists) {
      log.info(`${this.guid}: updates are lost; asking the pages for them`)
      await inkcast.notify(this.guid, LOAD)
      this.#lacks = false
    }
    return count > 0
  }

  /** @returns {Promise<Position | null>} the beginning of the log */
  async #start () {
    const end = await this.#parts.inkcast.position(this.guid)
    return end && { epoch: end.epoch, offset: 0 }
  }

  /** @param {string} id */
  #remember (id) {
    this.#events.add(id)
    if (this.#events.size > MAX_EVENTS) for (const oldest of this.#events) { this.#events.delete(oldest); break }
  }
}

/** @param {string} id @returns {Frame} */
const droppedFrame = (id) => ({ kind: KIND.dropped, payload: Buffer.from(id) })
