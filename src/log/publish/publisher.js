import { publicError } from '../../base/common/errors.js'
import { happened, logging, runStep } from '../../observe/metrics/points.js'
import { OPERATORS } from '../../wire/operators.js'
import { checkPublication } from '../../wire/publication.js'

/**
 * Publishes to the bus for all sources: signals of clients, records from Kafka, requests to the api without Kafka, the
 * loopback uplink and the demo's documents. It counts results and measures the time since the producer.
 *
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('../bus/contract.js').PublishEntry} PublishEntry
 * @typedef {import('../bus/contract.js').Published} Published
 *
 * @typedef {Omit<Publication, 'except' | 'ephemeral' | 'receipt' | 'source'> & Partial<Pick<Publication, 'except' |
 *   'ephemeral' | 'receipt'>>} NewPublication default: no exceptions, not ephemeral, no receipt
 *
 * @typedef {object} PublishOptions
 * @property {string} source name of the publisher, as receivers see it
 * @property {import('../bus/contract.js').QueuePlace} [queue] see PublishEntry
 * @property {boolean} [checked] `checkValue` has accepted the value already; default false
 */

/** @typedef {ReturnType<typeof createPublisher>} Publisher */

/**
 * @param {object} dependencies
 * @param {Pick<import('../bus/contract.js').Bus, 'publish'>} dependencies.bus
 * @param {{ maxRecordBytes: number }} dependencies.limits
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'records' | 'stage_seconds'>} dependencies.metrics
 * @param {Pick<import('../../base/common/clock.js').Clock, 'now'>} dependencies.clock
 */
export function createPublisher ({ bus, limits, metrics, clock }) {
  const maxBytes = limits.maxRecordBytes
  const producedIngested = metrics.stage_seconds.labels('produced_ingested')
  /** @param {PublishEntry[]} entries */
  const toBus = (entries) => bus.publish(entries)

  /**
   * Publishes entries that `checkPublication` has accepted, in one call of the bus. A failed call is not counted: its
   * outcome may be unknown, and callers retry it.
   *
   * @param {PublishEntry[]} entries of one lane (`laneOf`)
   * @returns {Promise<Published[]>} rejects with the error of the bus
   */
  async function publishChecked (entries) {
    const published = await runStep(logging, metrics, entries, toBus)
    for (let i = 0; i < entries.length; i++) {
      const { publication } = entries[i]
      const { duplicate } = published[i]
      metrics.records.count(publication.operator, duplicate ? 'duplicate' : 'ok')
      // clocks of other machines may be ahead of this one
      if (!duplicate) producedIngested.observe(Math.max(0, clock.now() - publication.timestamp) / 1000)
    }
    return published
  }

  return {
    publishChecked,

    /**
     * Checks one publication and publishes it.
     *
     * @param {NewPublication} publication
     * @param {PublishOptions} options
     * @returns {Promise<Published>} rejects with the error of `checkPublication` or of the bus
     */
    async publish (publication, { source, checked, queue }) {
      /** @type {Publication} */
      const complete = { except: [], ephemeral: false, receipt: false, ...publication, source }
      try {
        checkPublication(complete, { maxBytes, checked })
      } catch (error) {
        const { code } = publicError(error)
        metrics.records.count(operatorLabel(complete.operator), code)
        if (happened.hasSubscribers) {
          const { guid, uid, traceId } = complete
          happened.publish({ by: metrics, hop: 'refused', event: { guid, uid, traceId, reason: code } })
        }
        throw error
      }
      const [published] = await publishChecked([{ publication: complete, ...(queue && { queue }) }])
      return published
    },

    /**
     * Counts a record that ingest or the api has refused, after it was stored elsewhere.
     * @param {string} operator as its producer wrote it
     * @param {import('../../base/common/errors.js').InkcastError} error
     */
    refused (operator, error) { metrics.records.count(operatorLabel(operator), error.code) },

    /**
     * Counts a record without a log that was skipped: executed before, or too old to know.
     * @param {Publication} publication
     */
    passedOver ({ operator }) { metrics.records.count(operator, 'passed_over') }
  }
}

/** @param {string} operator @returns {string} `unknown` for others: text of a producer must not become a label */
const operatorLabel = (operator) => OPERATORS.has(operator) ? operator : 'unknown'
