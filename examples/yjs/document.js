import * as Y from 'yjs'

/** Name of the records that are Yjs updates, as inkcast-yjs sends them. */
const UPDATE = 'yjs'
/** Record that asks pages to load the document again, and to send what it lacks. */
const LOAD = 'yjs:load'
/** After this time without reading the log, records may have expired unread (HISTORY_TTL), ms. */
const UNWATCHED = 60_000

/** @typedef {import('inkcast-client').Position} Position */

/**
 * One document: the log of the gateway, merged up to a position. Its content is in memory only while it is used.
 */
export class Document {
  #dependencies
  /** @type {Y.Doc | null} */
  #content = null
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve()
  #isSaved = true
  #readAt = -Infinity
  #cutAt = 0

  /**
   * @param {object} dependencies
   * @param {string} dependencies.guid
   * @param {Position | null} dependencies.position of what is stored
   * @param {Pick<ReturnType<typeof import('./store.js').createStore>, 'load' | 'save'>} dependencies.store
   * @param {ReturnType<typeof import('./inkcast.js').createInkcast>} dependencies.inkcast
   * @param {import('./inkcast.js').Log} dependencies.log
   * @param {number} dependencies.keep records that stay in the log, for pages that reconnect
   */
  constructor (dependencies) {
    this.#dependencies = dependencies
    this.guid = dependencies.guid
    this.position = dependencies.position
  }

  /**
   * @returns {Promise<{ update: Uint8Array, position: Position | null }>} the document now, with the position of the
   *   last record in it; null: there is no log
   */
  read = () => this.#alone(async () => {
    await this.#catchUp()
    return { update: Y.encodeStateAsUpdate(await this.#open()), position: this.position }
  })

  /** Merges an update that is too large for a record. @param {Uint8Array} update */
  add = (update) => this.#alone(async () => {
    Y.decodeUpdate(update) // throws if it is not one
    Y.applyUpdate(await this.#open(), update)
    this.#isSaved = false
    await this.#save()
    await this.#dependencies.inkcast.publish(this.guid, { event: LOAD, value: 'null' })
  })

  /**
   * Merges new records, stores the result, and cuts the log.
   * @returns {Promise<boolean>} whether there were any
   */
  merge = () => this.#alone(async () => {
    const { guid, inkcast, keep } = this.#dependencies
    const hadRecords = await this.#catchUp()
    await this.#save()
    const { position } = this
    if (position !== null && position.offset - keep > this.#cutAt) {
      await inkcast.cut(guid, { epoch: position.epoch, offset: position.offset - keep })
      this.#cutAt = position.offset
    }
    return hadRecords
  })

  /** Frees the memory. */
  close = () => this.#alone(async () => {
    await this.#save()
    this.#content?.destroy()
    this.#content = null
  })

  /** @template T @param {() => Promise<T>} action @returns {Promise<T>} after the ones before */
  #alone (action) {
    const result = this.#turn.then(action)
    this.#turn = result.catch(() => {})
    return result
  }

  async #open () {
    if (this.#content !== null) return this.#content
    const content = new Y.Doc()
    const stored = await this.#dependencies.store.load(this.guid)
    if (stored !== null) Y.applyUpdate(content, stored.update)
    this.#content = content
    return content
  }

  /** @returns {Promise<boolean>} whether there were records */
  async #catchUp () {
    const { guid, inkcast, log } = this.#dependencies
    const now = performance.now()
    const isUnwatched = this.position !== null && now - this.#readAt > UNWATCHED
    const before = this.position
    let isIncomplete = false
    let count = 0
    let at = this.position ?? await this.#start()
    while (at !== null) {
      const { position: end, gap, records } = await inkcast.history(guid, at)
      if (end === null) {
        // expired: pages that load now begin with the next log
        isIncomplete ||= isUnwatched
        at = null
      } else if (gap === 'epoch') {
        // another log, because the former one expired or was lost
        isIncomplete ||= isUnwatched
        at = { epoch: end.epoch, offset: 0 }
      } else {
        isIncomplete ||= gap === 'trimmed'
        const rest = gap === 'trimmed' ? (await inkcast.history(guid, null)).records : records
        for (const { event, value } of rest) if (event === UPDATE) await this.#apply(value)
        count += rest.length
        at = { epoch: end.epoch, offset: rest.at(-1)?.offset ?? end.offset }
        if (at.offset >= end.offset) break
      }
    }
    this.position = at
    this.#readAt = now
    if (before?.epoch !== at?.epoch) this.#cutAt = 0
    if (before?.epoch !== at?.epoch || before?.offset !== at?.offset) this.#isSaved = false
    if (isIncomplete) {
      log.info(`${guid}: records were lost; asking the pages for them`)
      // pages that are not connected load it anyway: their position is not in the log
      await inkcast.publish(guid, { event: LOAD, value: 'null', isEphemeral: true })
    }
    return count > 0
  }

  /** @returns {Promise<Position | null>} the beginning of the log */
  async #start () {
    const end = await this.#dependencies.inkcast.position(this.guid)
    return end && { epoch: end.epoch, offset: 0 }
  }

  /** @param {unknown} value */
  async #apply (value) {
    try {
      if (!(value instanceof Uint8Array)) throw new Error('it is not binary')
      Y.applyUpdate(await this.#open(), value)
    } catch (error) {
      this.#dependencies.log.error(`${this.guid}: a record is dropped: ${/** @type {Error} */ (error).message}`)
    }
  }

  async #save () {
    if (this.#isSaved) return
    const update = Y.encodeStateAsUpdate(await this.#open())
    await this.#dependencies.store.save(this.guid, { position: this.position, update })
    this.#isSaved = true
  }
}
