import { Backoff } from '../../base/common/backoff.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { encodeBatch } from './cloud-events.js'
import { WebhookError } from './request.js'

/** Pause between two tries, ms. */
const RETRY = { min: 100, max: 15_000 }
/** So often an event that the service refuses for good is sent before it is given up. */
const REFUSALS = 5
/** Time of failing until it is reported: `trouble`. ms */
const TROUBLE = 10_000
/** Time of failing until new messages of clients are refused: they would only wait. ms */
const FAILING = 300_000

/**
 * @typedef {import('../uplink/stream/contract.js').StreamEntry} Entry
 * @typedef {ReturnType<typeof createDelivery>} Delivery
 */

/**
 * Delivers batches to the service, each until it is accepted.
 *
 * @param {object} dependencies
 * @param {ReturnType<typeof import('./request.js').createRequest>} dependencies.request
 * @param {ReturnType<typeof import('./answers.js').createAnswers>} dependencies.answers
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'webhook_requests' | 'webhook_events' |
 *   'webhook_seconds'>} dependencies.metrics
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
 */
export function createDelivery ({ request, answers, log, metrics, clock, random }) {
  /** Since when no request has succeeded, and why. @type {{ since: number, cause: string } | null} */
  let failure = null
  const logLimit = new LogLimit({ clock })
  const failingFor = () => failure === null ? 0 : clock.monotonic() - failure.since

  /** @param {string} id @param {Buffer} body @param {AbortSignal} signal */
  async function post (id, body, signal) {
    const began = clock.monotonic()
    try {
      const answer = await request(id, body, signal)
      metrics.webhook_requests.inc({ result: 'ok' })
      if (failure !== null) log.info({ afterMs: Math.round(failingFor()) }, 'the webhook accepts events again')
      failure = null
      logLimit.reset()
      return answer
    } catch (error) {
      signal.throwIfAborted()
      const { status, message } = /** @type {WebhookError} */ (error)
      metrics.webhook_requests.inc({ result: String(status ?? 'no_answer') })
      failure = { since: failure?.since ?? clock.monotonic(), cause: message }
      if (logLimit.due()) log.warn({ cause: message, webhookId: id }, 'the webhook does not accept events, retrying')
      throw error
    } finally {
      metrics.webhook_seconds.observe((clock.monotonic() - began) / 1000)
    }
  }

  /**
   * @param {readonly Entry[]} entries
   * @param {AbortSignal} signal
   * @param {() => Promise<void>} beforeRetry
   * @returns {Promise<WebhookError | null>} null: accepted; otherwise it is refused for good
   */
  async function send (entries, signal, beforeRetry) {
    // the same for each try and each process, because the batch is
    const id = `${entries[0].id}.${entries.length}`
    const body = encodeBatch(entries)
    const backoff = new Backoff({ ...RETRY, random })
    let refusals = 0
    for (;;) {
      try {
        await answers(id, await post(id, body, signal), signal)
        return null
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof WebhookError)) throw error
        const wait = backoff.next()
        if (error.final && (entries.length > 1 || ++refusals >= REFUSALS)) return error
        await clock.sleep(Math.max(wait, error.retryAfter ?? 0), signal)
        await beforeRetry()
        signal.throwIfAborted()
      }
    }
  }

  return {
    /**
     * Delivers a batch, and resolves when each event is accepted, or refused for good. A batch that is refused is
     * halved until the events that are the cause stand alone; the others are delivered.
     *
     * @param {readonly Entry[]} entries
     * @param {object} options
     * @param {AbortSignal} options.signal
     * @param {(entry: Entry, reason: string) => Promise<void>} options.onRefused keeps an event for people
     * @param {() => Promise<void>} [options.beforeRetry] may abort the signal: the events are another process's now
     * @returns {Promise<void>} rejects with the reason of the signal, or the error of `onRefused`
     */
    async deliver (entries, { signal, onRefused, beforeRetry = async () => {} }) {
      const refusal = await send(entries, signal, beforeRetry)
      if (refusal === null) {
        for (const { record } of entries) metrics.webhook_events.inc({ operator: record.operator, result: 'ok' })
      } else if (entries.length > 1) {
        const half = Math.ceil(entries.length / 2)
        await this.deliver(entries.slice(0, half), { signal, onRefused, beforeRetry })
        await this.deliver(entries.slice(half), { signal, onRefused, beforeRetry })
      } else {
        const [entry] = entries
        metrics.webhook_events.inc({ operator: entry.record.operator, result: 'refused' })
        log.error(
          { eventId: entry.id, operator: entry.record.operator, guid: entry.record.guid, cause: refusal.message },
          'the webhook refuses an event for good; it is kept apart')
        await onRefused(entry, refusal.message)
      }
    },

    /** Whether new messages should be refused because it has failed for too long. */
    get failing () { return failingFor() > FAILING },

    /** @returns {string | null} why events wait */
    get trouble () {
      return failure !== null && failingFor() > TROUBLE
        ? `the webhook (UPLINK_URL) does not accept events: ${failure.cause}`
        : null
    }
  }
}
