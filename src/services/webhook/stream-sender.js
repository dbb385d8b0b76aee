import { Backoff } from '../../base/common/backoff.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { LEASE } from '../uplink/stream/contract.js'

/** A lease is renewed so often, ms: twice may fail. */
const RENEWAL = LEASE / 3
/** Another process reads the part: look again after this time, ms. */
const ELSEWHERE = LEASE / 2
/** The state of the stream is measured so often, ms. */
const MEASURE = 5000

/**
 * Sends the records of the uplink's stream to the webhook: of each part one batch after the other, the parts at the
 * same time. Several processes may run one; each part is read by one of them at a time.
 *
 * @param {object} dependencies
 * @param {import('../uplink/stream/contract.js').UplinkStream} dependencies.stream
 * @param {string} dependencies.group of the stream
 * @param {string} dependencies.holder names this process, and no other
 * @param {Pick<import('./delivery.js').Delivery, 'deliver' | 'failing'>} dependencies.delivery
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'uplink_stream_records' | 'uplink_stream_bytes'>}
 *   dependencies.metrics
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
 */
export function createStreamSender ({ stream, group, holder, delivery, log, metrics, clock, random }) {
  const reader = { group, holder }
  const stopping = new AbortController()
  const { signal } = stopping
  /** Ends the pause of a part. @type {Map<number, () => void>} */
  const pauses = new Map()
  /** Parts with records that came during their last batch. @type {Set<number>} */
  const appended = new Set()
  const logLimit = new LogLimit({ clock })
  let endWatch = () => {}
  /** @type {Promise<unknown>} */
  let running = Promise.resolve()

  /** @param {number} part @param {number} ms */
  async function pause (part, ms) {
    if (appended.has(part)) return
    const woken = new AbortController()
    pauses.set(part, () => woken.abort())
    await clock.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => {})
    pauses.delete(part)
  }

  /** Reads a part until the process stops. @param {number} part */
  async function read (part) {
    const backoff = new Backoff({ min: 100, max: 5000, random })
    while (!signal.aborted) {
      try {
        appended.delete(part)
        const batch = await stream.take(part, reader)
        backoff.reset()
        if (batch === null) await clock.sleep(ELSEWHERE, signal)
        else if (batch.entries.length === 0) await pause(part, RENEWAL)
        else await send(part, batch)
      } catch (error) {
        if (signal.aborted) break
        if (logLimit.due()) log.warn({ err: error, part }, 'the uplink cannot be read, retrying')
        await clock.sleep(backoff.next(), signal).catch(() => {})
      }
    }
    await stream.release(part, reader)
  }

  /** @param {number} part @param {import('../uplink/stream/contract.js').Batch} batch */
  async function send (part, { entries, upTo }) {
    const ended = new AbortController()
    const renewing = renew(part, ended)
    try {
      await delivery.deliver(entries, {
        signal: AbortSignal.any([signal, ended.signal]),
        // Redis may have lost the lease since the last renewal
        beforeRetry: () => renewOnce(part, ended),
        onRefused: (entry, reason) => stream.keepRefused(part, entry, reason)
      })
    } finally {
      ended.abort(new Error('the batch is done'))
      await renewing
    }
    if (!await stream.done(part, reader, upTo)) log.info({ part }, 'another process reads this part of the uplink now')
  }

  /** Keeps the lease while a batch is on its way. @param {number} part @param {AbortController} batch */
  async function renew (part, batch) {
    const until = AbortSignal.any([signal, batch.signal])
    while (!until.aborted) {
      await clock.sleep(RENEWAL, until).catch(() => {})
      if (!until.aborted) await renewOnce(part, batch)
    }
  }

  /**
   * Renews the lease; ends the batch when another process has it. Never rejects.
   * @param {number} part @param {AbortController} batch
   */
  async function renewOnce (part, batch) {
    try {
      if (await stream.take(part, reader, { failing: delivery.failing }) === null)
        batch.abort(new Error('another process reads this part of the uplink now'))
    } catch (error) {
      // without Redis the lease ends, and with it comes back if no other process was there
      log.debug({ err: error, part }, 'a lease of the uplink was not renewed')
    }
  }

  async function measure () {
    while (!signal.aborted) {
      await stream.state().then(({ records, bytes }) => {
        metrics.uplink_stream_records.set(records)
        metrics.uplink_stream_bytes.set(bytes)
      }, () => {}) // Redis is unavailable, and its own metrics say so
      await clock.sleep(MEASURE, signal).catch(() => {})
    }
  }

  return {
    async start () {
      endWatch = stream.watch((part) => {
        appended.add(part)
        pauses.get(part)?.()
      })
      running = Promise.all([measure(), ...Array.from({ length: stream.parts }, (_, part) => read(part))])
    },

    /** Batches on their way are given up; another process, or the next start, sends them again. */
    async stop () {
      stopping.abort(new Error('the process stops'))
      endWatch()
      await running
    }
  }
}
