/**
 * Dependencies of the handlers of client events. Each handler is one file with the schema of its single argument and
 * `handle(connection, input, context)`, whose result is acknowledged with `ok: true`.
 *
 * @typedef {object} HandlerContext
 * @property {import('../../documents/feeds.js').Feeds} feeds
 * @property {import('../../people/presence/presence.js').Presence} presence
 * @property {ReturnType<typeof import('../../documents/access.js').createAccess>} access
 * @property {import('../../documents/rules/rules.js').RulesOf} rulesOf
 * @property {import('../login.js').Login} login
 * @property {import('../expiry.js').Expiry} expiry
 * @property {import('../connection-listeners.js').ConnectionListeners} connectionListeners
 * @property {import('../../log/publish/publisher.js').Publisher} publisher
 * @property {import('../../log/bus/contract.js').Bus} bus
 * @property {import('../../documents/fair-reads.js').FairReads} reads
 * @property {import('../../log/publish/uplink.js').Uplink} uplink
 * @property {import('../../config/load.js').Config['limits']} limits
 * @property {ReturnType<typeof import('../../transport/admission/operation-rates.js').createOperationRates>}
 *   operationRates
 * @property {() => boolean} mayAct whether clients may use their rights on this worker now (people/workers/standing.js)
 * @property {import('../../observe/metrics/metrics.js').Metrics} metrics
 * @property {import('../../base/common/clock.js').Clock} clock
 * @property {import('../../base/common/random.js').Random} random
 * @property {import('../../base/common/log.js').Log} log
 */

export {}
