/**
 * Counts and times deliveries to a process's clients, and detects missing, duplicate and disordered ones. Keeps one
 * number per delivery, for exact quantiles; decodes only three numbers at fixed positions (message.js).
 */
import { now, readRecord } from '../message.js'
import { recordsOf } from '../job.js'

/**
 * @typedef {import('../job.js').Job} Job
 * @typedef {import('./websocket-client.js').Receiving} Receiving
 *
 * @typedef {object} Received
 * @property {number} expected deliveries
 * @property {number} missing
 * @property {number} doubled
 * @property {number} disordered arrived after a later one of the same document
 * @property {number} bytes of the packets, without the WebSocket header
 * @property {Float32Array} latencies from producer to client, ms
 */

export class Receiver {
  #expected = 0
  #fresh = 0
  #doubled = 0
  #disordered = 0
  #bytes = 0
  #latencies = new Float32Array(0)
  /** Records that were skipped, by client; normally none. @type {Map<Receiving, Set<string>>} */
  #holes = new Map()
  /** @type {(() => void) | undefined} */
  #settle

  /**
   * Starts counting.
   * @param {Job} job that is about to be produced
   * @param {Iterable<Receiving>} clients open clients
   * @returns {number} deliveries of the job to these clients
   */
  expect (job, clients) {
    this.#expected = 0
    for (const { seen } of clients)
      for (const document of seen?.keys() ?? []) this.#expected += recordsOf(job, document)
    this.#fresh = this.#doubled = this.#disordered = this.#bytes = 0
    this.#latencies = new Float32Array(this.#expected)
    return this.#expected
  }

  /**
   * Waits for the expected deliveries.
   * @param {number} quietMs after this time without a delivery the missing ones count as lost
   * @param {(done: number) => void} onProgress
   * @returns {Promise<Received>}
   */
  async receive (quietMs, onProgress) {
    if (this.#fresh < this.#expected) await this.#complete(quietMs, onProgress)
    return {
      expected: this.#expected,
      missing: this.#expected - this.#fresh,
      doubled: this.#doubled,
      disordered: this.#disordered,
      bytes: this.#bytes,
      latencies: this.#latencies.subarray(0, this.#fresh)
    }
  }

  /** @param {number} quietMs @param {(done: number) => void} onProgress @returns {Promise<void>} */
  #complete (quietMs, onProgress) {
    let last = -1
    let quietSince = performance.now()
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        onProgress(this.#fresh)
        if (this.#fresh > last) quietSince = performance.now()
        else if (performance.now() - quietSince > quietMs) this.#settle?.()
        last = this.#fresh
      }, 250)
      this.#settle = () => {
        clearInterval(timer)
        this.#settle = undefined
        resolve()
      }
    })
  }

  /** @param {Buffer} packet @param {Receiving} client @param {number} [valueAt] where it is not that of Socket.IO */
  onEvent = (packet, client, valueAt) => {
    const record = readRecord(packet, valueAt)
    if (record === null || client.seen === undefined) return
    const { document, sequence, at } = record
    const last = client.seen.get(document)
    if (last === undefined) return
    if (sequence === last + 1 || last === 0) {
      client.seen.set(document, sequence)
    } else if (sequence > last) {
      this.#holesOf(client, document, last, sequence)
      client.seen.set(document, sequence)
    } else if (this.#holes.get(client)?.delete(`${document} ${sequence}`)) {
      this.#disordered++
    } else {
      this.#doubled++
      return
    }
    // a late delivery of an earlier job may exceed the expected number
    if (this.#fresh < this.#expected) this.#latencies[this.#fresh] = (now() - at) / 1000
    this.#fresh++
    this.#bytes += packet.length
    if (this.#fresh === this.#expected) this.#settle?.()
  }

  /** @param {Receiving} client @param {number} document @param {number} last @param {number} sequence */
  #holesOf (client, document, last, sequence) {
    const holes = this.#holes.get(client) ?? new Set()
    for (let missing = last + 1; missing < sequence; missing++) holes.add(`${document} ${missing}`)
    this.#holes.set(client, holes)
  }
}
