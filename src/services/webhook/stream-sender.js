import { Backoff } from '../../base/common/backoff.js'
import { abortedWith } from '../../base/common/wait.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { LEASE } from '../uplink/stream/contract.js'

/** A lease is renewed so often, ms: twice may fail. */
const RENEWAL = LEASE / 3
/** Another process reads the part: look again after this time, ms. */
const ELSEWHERE = LEASE / 2
/** The state of the stream is measured so often, ms. */
const MEASURE = 5000
/** From then on another process may read the part. */
const LEASE_ENDED = 'the lease of this part of the uplink has ended'

/**
 * Of a part, while a batch of it is on its way.
 * @typedef {object} Lease
 * @property {number} until counted from before the command, as Redis counts it from when it has it. Monotonic ms
 * @property {AbortController} batch
 */

/**
 * Sends the records of the uplink's stream to the webhook: of each part one batch after the other, the parts at the
 * same time. Several processes may run one; each part is read by one of them at a time.
 */
export class StreamSender {
  #dependencies
  #reader
  #stopping = new AbortController()
  #signal = this.#stopping.signal
  /** Ends the pause of a part. @type {Map<number, () => void>} */
  #pauses = new Map()
  /** Parts with records that came during their last batch. @type {Set<number>} */
  #appended = new Set()
  #logLimit
  #endWatch = () => {}
  /** @type {Promise<unknown>} */
  #running = Promise.resolve()

  /**
   * @param {Pick<import('../../observe/services.js').Services, 'log' | 'clock'> & Own} dependencies
   *
   * @typedef {object} Own
   * @property {import('../uplink/stream/contract.js').UplinkStream} stream
   * @property {string} group of the stream
   * @property {string} holder names this process, and no other
   * @property {Pick<import('./delivery.js').Delivery, 'deliver' | 'failing'>} delivery
   * @property {Pick<import('../../observe/metrics/metrics.js').Metrics, 'uplink_stream_records' |
   *   'uplink_stream_bytes'>} metrics
   * @property {Pick<import('../../base/common/random.js').Random, 'number'>} random
   */
  constructor (dependencies) {
    const { group, holder, clock } = this.#dependencies = dependencies
    this.#reader = { group, holder }
    this.#logLimit = new LogLimit({ clock })
  }

  /** @param {number} part @param {number} ms */
  async #pause (part, ms) {
    if (this.#appended.has(part)) return
    const { controller: woken, release } = abortedWith(this.#signal)
    this.#pauses.set(part, () => woken.abort())
    await this.#dependencies.clock.sleep(ms, woken.signal).catch(() => {})
    release()
    this.#pauses.delete(part)
  }

  /** Reads a part until the process stops. @param {number} part */
  async #read (part) {
    const { stream, log, clock, random } = this.#dependencies
    const backoff = new Backoff({ min: 100, max: 5000, random: random })
    while (!this.#signal.aborted) {
      try {
        this.#appended.delete(part)
        const until = clock.monotonic() + LEASE
        const batch = await stream.take(part, this.#reader)
        backoff.reset()
        if (batch === null) await clock.sleep(ELSEWHERE, this.#signal)
        else if (batch.entries.length === 0) await this.#pause(part, RENEWAL)
        else await this.#send(part, batch, until)
      } catch (error) {
        if (this.#signal.aborted) break
        if (this.#logLimit.due()) log.warn({ err: error, part }, 'the uplink cannot be read, retrying')
        await clock.sleep(backoff.next(), this.#signal).catch(() => {})
      }
    }
    await stream.release(part, this.#reader)
  }

  /** @param {number} part @param {import('../uplink/stream/contract.js').Batch} batch @param {number} until */
  async #send (part, { entries, upTo }, until) {
    const { stream, delivery, log } = this.#dependencies
    const { controller: ended, release } = abortedWith(this.#signal)
    const lease = { until, batch: ended }
    const renewing = Promise.all([this.#renew(part, lease), this.#end(lease)])
    try {
      await delivery.deliver(entries, {
        signal: ended.signal,
        // Redis may have lost the lease since the last renewal
        beforeRetry: () => this.#renewOnce(part, lease),
        onRefused: (entry, reason) => stream.keepRefused(part, entry, reason)
      })
    } finally {
      release()
      ended.abort(new Error('the batch is done'))
      await renewing
    }
    if (!await stream.done(part, this.#reader, upTo))
      log.info({ part }, 'another process reads this part of the uplink now')
  }

  /** Keeps the lease while a batch is on its way. @param {number} part @param {Lease} lease */
  async #renew (part, lease) {
    const { signal } = lease.batch
    while (!signal.aborted) {
      await this.#dependencies.clock.sleep(RENEWAL, signal).catch(() => {})
      if (!signal.aborted) await this.#renewOnce(part, lease)
    }
  }

  /**
   * Renews the lease; ends the batch when another process has it, or may have it. Never rejects.
   * @param {number} part @param {Lease} lease
   */
  async #renewOnce (part, lease) {
    const { stream, delivery, log, clock } = this.#dependencies
    const until = clock.monotonic() + LEASE
    try {
      if (await stream.take(part, this.#reader, { failing: delivery.failing }) === null)
        lease.batch.abort(new Error('another process reads this part of the uplink now'))
      else lease.until = until
    } catch (error) {
      // without Redis the lease ends, and with it comes back if no other process was there
      log.debug({ err: error, part }, 'a lease of the uplink was not renewed')
      // a process that was paused has not noticed the end yet
      if (clock.monotonic() >= lease.until) lease.batch.abort(new Error(LEASE_ENDED))
    }
  }

  /** Ends the batch, and its request on the way, with the lease. @param {Lease} lease */
  async #end (lease) {
    const { clock } = this.#dependencies
    const { batch } = lease
    for (let left; (left = lease.until - clock.monotonic()) > 0 && !batch.signal.aborted;)
      await clock.sleep(left, batch.signal).catch(() => {})
    batch.abort(new Error(LEASE_ENDED))
  }

  async #measure () {
    const { stream, metrics, clock } = this.#dependencies
    while (!this.#signal.aborted) {
      await stream.state().then(({ records, bytes }) => {
        metrics.uplink_stream_records.set(records)
        metrics.uplink_stream_bytes.set(bytes)
      }, () => {}) // Redis is unavailable, and its own metrics say so
      await clock.sleep(MEASURE, this.#signal).catch(() => {})
    }
  }

  async start () {
    const { stream } = this.#dependencies
    this.#endWatch = stream.watch((part) => {
      this.#appended.add(part)
      this.#pauses.get(part)?.()
    })
    const parts = Array.from({ length: stream.parts }, (_, part) => this.#read(part))
    this.#running = Promise.all([this.#measure(), ...parts])
  }

  /** Batches on their way are given up; another process, or the next start, sends them again. */
  async stop () {
    this.#stopping.abort(new Error('the process stops'))
    this.#endWatch()
    await this.#running
  }
}
