import { publishing, runStep } from '../../observe/metrics/points.js'
import { checkPublication, isOrder } from '../../wire/publication.js'
import { publishOnce } from './idempotency/publish-once.js'

/**
 * The one publish path of the api: every way in decodes its envelope and then calls this.
 *
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('../../wire/position.js').Position} Position
 */

/**
 * Takes checked publications of one lane (`laneOf`); resolves when they are safe (on the bus, or acknowledged by
 * Kafka), with what is known of each by then. On the bus they are published all or none. Rejects with a retryable
 * InkcastError when the outcome is not known. An error with a status below 500, rejected or of one publication, says
 * that it was certainly not published.
 * @typedef {(publications: readonly Publication[]) => Promise<Taken[]>} Sink
 * @typedef {object} Taken
 * @property {Position | null} [position]
 * @property {boolean} [duplicate]
 * @property {import('../../log/bus/contract.js').CarriedOut} [carriedOut] of an order
 * @property {Error} [error] this one was not taken
 */

/** @typedef {import('./idempotency/publish-once.js').PublishResult} PublishResult */
/** @typedef {import('./idempotency/publish-once.js').PublishOptions} PublishOptions */
/** @typedef {(publication: Publication, options?: PublishOptions) => Promise<PublishResult>} Publish */

/**
 * @param {object} dependencies
 * @param {Sink} dependencies.sink
 * @param {{ maxRecordBytes: number }} dependencies.limits config.limits
 * @param {import('./idempotency/redis-requests.js').Requests} dependencies.requests
 * @returns {Publish} rejects with what `checkPublication` throws, what the sink rejects with, and with an idempotency
 *   key with what `publishOnce` rejects with
 */
export function createPublish ({ sink, limits, requests }) {
  /** @param {Publication} publication */
  const publish = async (publication) => resultOf(publication, (await sink([publication]))[0])
  return async (publication, options) => {
    checkPublication(publication, { maxBytes: limits.maxRecordBytes })
    const { idempotencyKey } = publication
    return idempotencyKey === undefined
      ? publish(publication)
      : publishOnce(requests, { ...publication, idempotencyKey }, publish, options)
  }
}

/**
 * @param {Publication} publication
 * @param {Taken} taken
 * @returns {PublishResult}
 * @throws {Error} of the sink
 */
export function resultOf ({ traceId }, { position, duplicate, carriedOut, error }) {
  if (error !== undefined) throw error
  if (carriedOut !== undefined) return { traceId, ...carriedOut }
  // of a duplicate the position is the log's end, not where it stands
  return position && !duplicate ? { traceId, position } : { traceId }
}

/**
 * The way without Kafka: straight to the bus.
 * @param {Pick<import('../../log/publish/publisher.js').Publisher, 'publishChecked'>} publisher
 * @returns {Sink}
 */
export const busSink = (publisher) => (publications) =>
  publisher.publishChecked(publications.map((publication) => ({ publication })))

/**
 * Publications on this way are observed until they are safe.
 * @param {Sink} sink
 * @param {object} metrics of the process
 * @returns {Sink}
 */
export const observedSink = (sink, metrics) => (publications) => runStep(publishing, metrics, publications, sink)

/**
 * The way over Kafka. The publications go into one request, where it has room. Orders go straight to the bus: they do
 * not wait behind publications, and their answer says that they are done.
 * @param {(publication: Publication) => Promise<void>} produce
 * @param {Sink} toBus
 * @returns {Sink}
 */
export const kafkaSink = (produce, toBus) => (publications) =>
  Promise.all(publications.map(async (publication) => {
    try {
      if (isOrder(publication)) return (await toBus([publication]))[0]
      await produce(publication)
      return {}
    } catch (error) {
      return { error: /** @type {Error} */ (error) }
    }
  }))
