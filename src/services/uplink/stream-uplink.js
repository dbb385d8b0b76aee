import { InkcastError, publicError } from '../../base/common/errors.js'

/** Records whose append is not answered yet; more are refused. */
const MAX_PENDING = 10_000

/**
 * The uplink over a stream (stream/contract.js), from which a webhook or gRPC clients read.
 *
 * @param {object} dependencies
 * @param {Pick<import('./stream/contract.js').UplinkStream, 'append'>} dependencies.stream
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'uplink_records' | 'uplink_pending'>}
 *   dependencies.metrics
 * @returns {import('../../log/publish/uplink.js').Uplink}
 */
export function createStreamUplink ({ stream, metrics }) {
  let pending = 0
  return {
    async start () {},
    async stop () {},
    async send (record) {
      const { operator } = record
      try {
        if (pending >= MAX_PENDING) throw new InkcastError('unavailable', 'too many messages wait for Redis')
        metrics.uplink_pending.set(++pending)
        const { duplicate } = await stream.append(record).finally(() => metrics.uplink_pending.set(--pending))
        metrics.uplink_records.inc({ operator, result: 'ok' })
        return { duplicate }
      } catch (error) {
        metrics.uplink_records.inc({ operator, result: publicError(error).code })
        throw error
      }
    }
  }
}
