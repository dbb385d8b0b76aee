import { InkcastError } from '../../base/common/errors.js'
import { WEBHOOK_GROUP } from '../../config/load.js'
import { createKafkaSender } from './kafka-sender.js'
import { StreamSender } from './stream-sender.js'

/**
 * The uplink for clients of gRPC: a sender as the webhook's, for each stream one.
 *
 * @param {object} dependencies
 * @param {Readonly<{ groups: readonly string[] }>} dependencies.settings config.uplink
 * @param {import('../uplink/stream/contract.js').UplinkStream} [dependencies.stream] without Kafka
 * @param {Pick<Parameters<typeof createKafkaSender>[0], 'kafka' | 'settings' | 'maxBytes'>} [dependencies.kafka]
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createEventSources ({
  settings: { groups }, stream, kafka, log, metrics, clock, random
}) {
  /**
   * @param {string} group
   * @param {ConstructorParameters<typeof StreamSender>[0]['delivery']} delivery
   * @throws {InkcastError} bad_request
   */
  return (group, delivery) => {
    if (kafka !== undefined) {
      if (!/^[A-Za-z0-9._-]{1,64}$/.test(group) || group === WEBHOOK_GROUP)
        throw new InkcastError('bad_request', 'the group is not a valid name')
      return createKafkaSender({ ...kafka, group, delivery, log, clock, random })
    }
    if (stream === undefined || !groups.includes(group))
      throw new InkcastError('bad_request', 'there is no such group: UPLINK_GROUPS names them')
    return new StreamSender({ stream, group, holder: random.uuid(), delivery, log, metrics, clock, random })
  }
}
