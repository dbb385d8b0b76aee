import { InkcastError } from '../base/common/errors.js'
import { leaderEpochOf, publicationFromMessage } from '../kafka/record.js'
import { checkPublication, isDocumentOrder, laneOf, logOf } from '../wire/publication.js'
import { canaryOf } from './canary.js'

/**
 * A record on its way through ingest.
 * @typedef {object} Routed
 * @property {number} index its place in the batch
 * @property {import('../log/bus/contract.js').PublishEntry} entry
 * @property {import('../observe/metrics/points.js').Stage} [stage]
 */

/**
 * @typedef {object} Refused
 * @property {number} index
 * @property {InkcastError} error
 */

/**
 * Reads and checks each record of a batch once, and sorts the valid ones into lanes. The order is kept within a lane
 * only. A document's lane contains records that the bus has in several lanes (`laneOf`); lanes.js separates them.
 *
 * @param {import('../kafka/contract.js').KafkaRecord[]} messages
 * @param {object} options
 * @param {string} options.source names the partition for deduplication (`sourceOf`)
 * @param {string} [options.healed] see Origin
 * @param {number} options.maxBytes maximum size of a value
 * @param {import('../wire/headers.js').TraceIdSource} options.random
 * @param {import('../kafka/value-framing.js').ValueFraming} [options.framing] default: none
 * @param {(origin: import('../log/bus/origin.js').Origin, timestamp: number) => boolean} [options.passesOver] whether a
 *   record without a log was carried out before
 * @returns {{ lanes: Map<string, Routed[]>, refused: Refused[], canaries: { index: number, text: string }[], passed:
 *   Routed[] }}
 */
export function route (messages, { source, healed, maxBytes, random, framing, passesOver = () => false }) {
  /** @type {Map<string, Routed[]>} */
  const lanes = new Map()
  /** @type {Refused[]} */
  const refused = []
  /** @type {{ index: number, text: string }[]} */
  const canaries = []
  /** @type {Routed[]} */
  const passed = []
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    const text = canaryOf(message)
    if (text !== undefined) {
      canaries.push({ index, text })
      continue
    }
    try {
      const unreadable = message.unreadable
      if (unreadable !== undefined)
        throw new InkcastError('bad_value', 'the record batch cannot be read', { cause: unreadable.error })
      const publication = checkPublication(publicationFromMessage(message, random, framing), { maxBytes })
      /** @type {import('../log/bus/origin.js').Origin} */
      const origin = { source, sequence: Number(message.offset), epoch: leaderEpochOf(message) }
      if (healed !== undefined) origin.healed = healed
      const routed = { index, entry: { publication, origin } }
      if (hasNoLog(publication) && passesOver(origin, Number(message.timestamp))) {
        passed.push(routed)
        continue
      }
      // keep orders about a document in its lane, so that a revoked user gets no record that follows the revoke
      const lane = laneOf(isDocumentOrder(publication) ? { ...publication, operator: 'broadcast' } : publication)
      const others = lanes.get(lane)
      if (others === undefined) lanes.set(lane, [routed])
      else others.push(routed)
    } catch (error) {
      // any other error is a defect; the record goes to the dead letters like an unreadable one
      refused.push({
        index,
        error: error instanceof InkcastError ? error : new InkcastError('internal', undefined, { cause: error })
      })
    }
  }
  return { lanes, refused, canaries, passed }
}

/** @param {import('../wire/publication.js').Publication} publication @returns {boolean} whether no log recognizes it */
export const hasNoLog = (publication) => logOf(publication) === undefined || publication.ephemeral

/**
 * The name of a partition in a document's log. A topic that was deleted and created again has another id, and offsets
 * from 0 again.
 *
 * @param {{ topic: string, topicId: string, partition: number }} place topicId: '' where it is unknown
 */
export const sourceOf = ({ topic, topicId, partition }) => `${topicId || topic}/${partition}`
