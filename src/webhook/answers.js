import { Backoff, retry } from '../common/backoff.js'
import { InkcastError, publicError } from '../common/errors.js'
import { publicationFromItem } from '../wire/item.js'

/** The publisher's name, as receivers see it. */
const SOURCE = 'webhook'
/** Publications in one answer. */
const MAX_PUBLICATIONS = 1000

/**
 * Publishes what the service has put into its answer: `{ "publish": [ … ] }`. Each publication has an idempotency key
 * that follows from the batch, so that the answer to a repeated batch publishes nothing twice.
 *
 * @param {object} dependencies
 * @param {import('../api/publish.js').Publish} dependencies.publish
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {Pick<import('../metrics/metrics.js').Metrics, 'webhook_publications'>} dependencies.metrics
 * @param {Pick<import('../common/clock.js').Clock, 'now' | 'sleep'>} dependencies.clock
 * @returns {(id: string, text: string, signal: AbortSignal) => Promise<void>} rejects with the reason of the signal
 */
export function createAnswers ({ publish, log, metrics, clock }) {
  /** @param {string} code @param {string} id @param {unknown} error */
  const refused = (code, id, error) => {
    metrics.webhook_publications.inc({ result: code })
    log.warn({ err: error, webhookId: id }, 'a publication in the answer of the webhook is refused')
  }

  return async (id, text, signal) => {
    const items = read(text)
    if (items instanceof InkcastError) return refused(items.code, id, items)
    for (const [i, item] of items.entries()) {
      try {
        const publication = publicationFromItem(item, {
          source: SOURCE,
          now: clock.now(),
          keyFrom: (key) => `${SOURCE}:${key ?? `${id}:${i}`}`
        })
        await retry(() => publish(publication), {
          signal,
          clock,
          backoff: new Backoff({ min: 100, max: 5000 }),
          retryable: (error) => publicError(error).retryable
        })
        metrics.webhook_publications.inc({ result: 'ok' })
      } catch (error) {
        signal.throwIfAborted()
        refused(publicError(error).code, id, error)
      }
    }
  }
}

/** @param {string} text @returns {unknown[] | InkcastError} */
function read (text) {
  // what is not a JSON object is not for inkcast: `OK` and the like
  if (!/^\s*\{/.test(text)) return []
  try {
    const { publish = [] } = JSON.parse(text)
    if (Array.isArray(publish) && publish.length <= MAX_PUBLICATIONS) return publish
  } catch {}
  return new InkcastError(
    'bad_request', `the answer must be JSON: { "publish": [ at most ${MAX_PUBLICATIONS} publications ] }`)
}
