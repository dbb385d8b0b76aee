/** Expiry of documents and of the set, s; the idle check renews it long before. */
export const TTL = 3600
/** Both are renewed that often, ms. */
export const RENEW_EVERY = 600_000

/** The set of documents in which a worker has connections, for the worker that cleans up after its death. */
export class NotedDocuments {
  /** Those that the set has. @type {Set<string>} */
  #noted = new Set()
  /** Changes to write. @type {Map<string, boolean>} */
  #changes = new Map()
  /** Last time the expiry was renewed, ms. */
  #renewedAt
  /** Their write. @type {Promise<void> | undefined} */
  #writing
  #client
  #keys
  #workerNumber
  #clock

  /**
   * @param {object} parts
   * @param {Pick<import('../../redis/client.js').RedisConnection, 'client' | 'keys'>} parts.redis
   * @param {number | undefined} parts.workerNumber undefined: there is no set
   * @param {Pick<import('../../base/common/clock.js').Clock, 'soon' | 'monotonic'>} parts.clock
   */
  constructor ({ redis: { client, keys }, workerNumber, clock }) {
    this.#client = client
    this.#keys = keys
    this.#workerNumber = workerNumber
    this.#clock = clock
    this.#renewedAt = clock.monotonic()
  }

  /** @param {string} guid */
  has (guid) { return this.#noted.has(guid) }

  /** @param {string} guid */
  add (guid) { return this.#change(guid, true) }

  /** @param {string} guid */
  delete (guid) {
    if (this.#noted.delete(guid) || this.#changes.has(guid))
      this.#change(guid, false).catch(() => {}) // an extra entry only costs a check
  }

  /** @param {(guid: string) => boolean} isNeeded the others are deleted */
  keep (isNeeded) {
    for (const guid of this.#noted) if (!isNeeded(guid)) this.delete(guid)
  }

  /** Redis may have lost the set. */
  lost () { this.#noted.clear() }

  /** @param {Iterable<string>} guids that are written first if the set lacks them @returns {Promise<string[]>} */
  async all (guids) {
    await Promise.all([...guids].filter((guid) => !this.has(guid)).map((guid) => this.add(guid)))
    const found = await this.of(/** @type {number} */ (this.#workerNumber))
    for (const guid of found) this.#noted.add(guid)
    return found
  }

  /** @param {number} workerNumber @returns {Promise<string[]>} */
  of (workerNumber) { return this.#client.smembers(this.#keys.workerPresence(workerNumber)) }

  /** Renews the expiry; after a failure the next call retries. */
  renew () {
    if (this.#workerNumber === undefined) return
    this.#renewedAt = this.#clock.monotonic()
    this.#client.expire(this.#keys.workerPresence(this.#workerNumber), TTL).catch(() => {})
  }

  /** To be called with each write: a worker whose documents are all busy compares none. */
  renewInTime () { if (this.#clock.monotonic() - this.#renewedAt >= RENEW_EVERY) this.renew() }

  /**
   * In one batch per turn of the event loop.
   * @param {string} guid
   * @param {boolean} there
   */
  #change (guid, there) {
    this.#changes.set(guid, there)
    this.#writing ??= new Promise((resolve) => { this.#clock.soon(() => resolve(this.#write())) })
    return this.#writing
  }

  async #write () {
    const batch = [...this.#changes]
    this.#changes.clear()
    this.#writing = undefined
    const key = this.#keys.workerPresence(/** @type {number} */ (this.#workerNumber))
    const [gone, come] = [false, true].map((there) => batch.flatMap(([guid, is]) => is === there ? [guid] : []))
    await Promise.all([
      ...(gone.length > 0 ? [this.#client.srem(key, gone)] : []),
      ...(come.length > 0 ? [this.#client.sadd(key, come), this.#client.expire(key, TTL)] : [])
    ])
    for (const guid of come) this.#noted.add(guid)
  }
}
