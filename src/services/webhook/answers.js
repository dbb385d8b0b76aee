import { createHash } from 'node:crypto'
import { Backoff, retry } from '../../base/common/backoff.js'
import { InkcastError, publicError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { publicationFromItem } from '../../wire/item.js'
import { countItems } from '../../wire/json-walk.js'
import { TooManyValues } from '../../wire/msgpack.js'
import { MAX_ID_BYTES, isId } from '../../wire/publication.js'
import { MAX_VALUES, placeOf } from '../../wire/value.js'

/** The publisher's name, as receivers see it. */
const SOURCE = 'webhook'
/** Publications in one answer. */
const MAX_PUBLICATIONS = 1000
/** A defect may concern one publication only: after this number of tries it is refused, and the others go on. */
const DEFECT_TRIES = 5
/** Beside the source, the longest key that is stored as it is; longer ones are stored as a hash. */
const MAX_KEY = MAX_ID_BYTES - SOURCE.length - 1
/** More than a publication has, also when it has each one twice. */
const MAX_FIELDS = 50

/**
 * Publishes what the service has put into its answer: `{ "publish": [ … ] }`. Each publication has an idempotency key
 * that follows from the batch, so that the answer to a repeated batch publishes nothing twice.
 *
 * @param {object} dependencies
 * @param {import('../api/publish.js').Publish} dependencies.publish
 * @param {(count?: number) => void} dependencies.refused charges the service for publications that were refused before
 *   `publish`
 * @param {<T>(bytes: number, decode: () => T) => T} dependencies.decoding calls `decode`, and charges the service its
 *   CPU time
 * @param {() => number} dependencies.owes ms for which no answer may be read, because too much was refused lately
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'webhook_publications'>} dependencies.metrics
 * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'sleep' | 'monotonic'>} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'number' | 'uuid'>} dependencies.random
 * @returns {(id: string, answer: import('./request.js').Answer, signal: AbortSignal) => Promise<void>} rejects with the
 *   reason of the signal
 */
export function createAnswers ({
  publish, refused: charge, decoding, owes, log, metrics, clock, random
}) {
  /** One line for each kind of failure. @type {Map<string, LogLimit>} by result and error code */
  const logLimits = new Map()
  let noted = false

  /** @param {string} kind @returns {boolean} whether a line about it is due */
  function lineIsDue (kind) {
    let limit = logLimits.get(kind)
    if (limit === undefined) logLimits.set(kind, limit = new LogLimit({ clock }))
    return limit.due()
  }

  /** @param {unknown} error @param {string} id @param {number} [count] of publications */
  function refused (error, id, count = 1) {
    const { code, message } = publicError(error)
    metrics.webhook_publications.inc({ result: code }, count)
    if (!lineIsDue(code)) return
    // the message says what the service has to change; a stack does for defects of inkcast only
    if (code === 'internal') log.error({ err: error, webhookId: id }, 'a publication in the answer of the webhook failed')
    else log.warn({ code, cause: message, webhookId: id }, 'a publication in the answer of the webhook is refused, as are others like it')
  }

  /**
   * Publishes one, as often as a retry can help.
   * @param {import('../../wire/publication.js').Publication} publication
   * @param {string} id
   * @param {AbortSignal} signal
   */
  async function publishOne (publication, id, signal) {
    let defects = 0
    // a repeated batch may get another answer
    await retry(() => publish(publication, { triesDiffer: true }), {
      signal,
      clock,
      backoff: new Backoff({ min: 100, max: 5000, random }),
      retryable (error) {
        const { code, retryable } = publicError(error)
        return code === 'internal' ? ++defects < DEFECT_TRIES : retryable
      },
      onFailure (error) {
        metrics.webhook_publications.inc({ result: 'retry' })
        const { code, message } = publicError(error)
        if (!lineIsDue(`retry ${code}`)) return
        log.warn({ code, cause: message, webhookId: id }, 'a publication in the answer of the webhook failed, retrying')
      }
    })
    metrics.webhook_publications.inc({ result: 'ok' })
  }

  /** @param {string} id @param {import('./request.js').Answer} answer @returns {unknown[]} */
  function read (id, { text, tooLarge }) {
    if (tooLarge) {
      refused(new InkcastError('value_too_large', 'the answer is too large: the events are accepted, its publications are not'), id)
      return []
    }
    // what is not a JSON object is not for inkcast: `OK` and the like
    if (!/^\s*\{/.test(text)) {
      if (!noted && text.trim() !== '') {
        noted = true
        log.info({ webhookId: id }, 'the answer of the webhook is not a JSON object: the events are accepted, and nothing is published')
      }
      return []
    }
    try {
      return decoding(Buffer.byteLength(text), () => itemsOf(text))
    } catch (error) {
      charge(1)
      refused(error, id)
      return []
    }
  }

  return async (id, answer, signal) => {
    const debt = owes()
    if (debt > 0) await clock.sleep(debt, signal)
    for (const [i, item] of read(id, answer).entries()) {
      let publication
      try {
        publication = publicationFromItem(item, {
          source: SOURCE,
          now: clock.now(),
          random,
          keyFrom: (key) => keyOf(key ?? `${id}:${i}`)
        })
      } catch (error) {
        charge(1)
        refused(error, id)
        continue
      }
      try {
        await publishOne(publication, id, signal)
      } catch (error) {
        signal.throwIfAborted()
        refused(error, id)
      }
    }
  }
}

/**
 * Counts the publications before it decodes them.
 * @param {string} text
 * @returns {unknown[]}
 * @throws {InkcastError} bad_request, bad_value
 */
function itemsOf (text) {
  const wanted = `the answer must be JSON: { "publish": [ at most ${MAX_PUBLICATIONS} publications ] }`
  const { items, fields, values, deep } = countItems(text)
  if (items > MAX_PUBLICATIONS) throw new InkcastError('bad_request', `${wanted}; it has ${items}`)
  if (deep) throw new InkcastError('bad_value', 'a value is nested too deep')
  if (values > MAX_VALUES) throw new TooManyValues(MAX_VALUES)
  if (fields > MAX_FIELDS) throw new InkcastError('bad_request', `a publication has at most ${MAX_FIELDS} fields`)
  let given
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw new InkcastError('bad_request', `${wanted}; it is not valid JSON${placeOf(text, error)}`, { cause: error })
  }
  const { publish = [] } = given
  if (!Array.isArray(publish)) throw new InkcastError('bad_request', `${wanted}; publish is not a list`)
  return publish
}

/** @param {string} key of a publication @returns {string} the same for the same key */
const keyOf = (key) => {
  const isLong = isId(key) && Buffer.byteLength(key) > MAX_KEY
  return `${SOURCE}:${isLong ? createHash('sha256').update(key).digest('base64url') : key}`
}
