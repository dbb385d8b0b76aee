import { checkPublication } from '../wire/publication.js'
import { publishOnce } from './idempotency/publish-once.js'

/**
 * The one publish path of the api: every way in decodes its envelope and then calls this.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {import('../wire/position.js').Position} Position
 */

/**
 * Takes a checked publication; resolves when it is safe (on the bus, or acknowledged by Kafka), with its position
 * if that is known by then. Rejects with a retryable InkcastError when the outcome is not known.
 * @typedef {(publication: Publication) => Promise<Position | null | undefined | void>} Sink
 */

/** @typedef {import('./idempotency/publish-once.js').PublishResult} PublishResult */
/** @typedef {(publication: Publication) => Promise<PublishResult>} Publish */

/**
 * @param {object} dependencies
 * @param {Sink} dependencies.sink
 * @param {{ maxRecordBytes: number }} dependencies.limits config.limits
 * @param {import('./idempotency/requests.js').Requests} dependencies.requests
 * @returns {Publish} rejects with what `checkPublication` throws, what the sink rejects with, and with an idempotency
 *   key with what `publishOnce` rejects with
 */
export function createPublish ({ sink, limits, requests }) {
  /** @type {Publish} */
  const publish = async (publication) => {
    const position = await sink(publication)
    return position ? { traceId: publication.traceId, position } : { traceId: publication.traceId }
  }
  return async (publication) => {
    checkPublication(publication, { maxBytes: limits.maxRecordBytes })
    const { idempotencyKey } = publication
    return idempotencyKey === undefined
      ? publish(publication)
      : publishOnce(requests, { ...publication, idempotencyKey }, publish)
  }
}

/**
 * The way without Kafka: straight to the bus.
 * @param {Pick<import('../publish/publisher.js').Publisher, 'publishChecked'>} publisher
 * @returns {Sink}
 */
export function busSink (publisher) {
  return async (publication) => {
    const [{ position, duplicate }] = await publisher.publishChecked([{ publication }])
    // of a duplicate it is the log's end, not where it stands
    return duplicate ? null : position
  }
}
