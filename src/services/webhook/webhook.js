import { isWebhookAlone, WEBHOOK_GROUP } from '../../config/load.js'
import { createAnswers } from './answers.js'
import { createDelivery } from './delivery.js'
import { createKafkaSender } from './kafka-sender.js'
import { createRequest } from './request.js'
import { createSigner } from './signature.js'
import { StreamSender } from './stream-sender.js'

/**
 * The webhook: sends the uplink to the business service at UPLINK_URL, and publishes what it answers.
 *
 * @param {object} dependencies
 * @param {Readonly<{ url?: string, secrets: readonly string[] }>} dependencies.settings config.uplink
 * @param {import('../../documents/rules/rules.js').RulesOf} dependencies.rulesOf
 * @param {ReturnType<import('../api/callers/callers.js').Callers['forWebhook']>} dependencies.caller the service
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createWebhook ({
  settings: { url, secrets }, rulesOf, caller, log, metrics, clock, random
}) {
  if (url === undefined) throw new TypeError('UPLINK_URL is not set')
  const delivery = createDelivery({
    request: createRequest({ url, sign: createSigner(secrets), clock }),
    answers: createAnswers({ ...caller, log, metrics, clock, random }),
    log,
    metrics,
    clock,
    random
  })
  /**
   * For records that others read too: the uplink leaves out those that the rules exclude only where the webhook is the
   * only reader (services/uplink/ruled-uplink.js).
   * @type {Pick<import('./delivery.js').Delivery, 'deliver' | 'failing'>}
   */
  const ruled = {
    async deliver (entries, options) {
      const wanted = entries.filter(({ record }) => record.guid === undefined || rulesOf(record.guid).uplink)
      if (wanted.length > 0) await delivery.deliver(wanted, options)
    },
    get failing () { return delivery.failing }
  }
  return {
    /** @param {import('../uplink/stream/contract.js').UplinkStream} stream */
    senderFrom: (stream) =>
      new StreamSender({
        stream,
        group: WEBHOOK_GROUP,
        holder: random.uuid(),
        delivery: isWebhookAlone(stream.groups) ? delivery : ruled,
        log, metrics, clock, random
      }),
    /** @param {Pick<Parameters<typeof createKafkaSender>[0], 'kafka' | 'settings' | 'maxBytes'>} options */
    senderFromKafka: (options) => createKafkaSender({ ...options, delivery: ruled, log, clock, random }),
    /** @returns {string[]} what is wrong, for the readiness check */
    warnings: () => delivery.trouble === null ? [] : [delivery.trouble]
  }
}
