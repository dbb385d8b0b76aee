import { createInspectFeed } from './feed.js'
import { Inspector } from './inspector.js'

/**
 * The inspector of one process, and the feed that its private listener serves.
 *
 * @typedef {Map<string, (req: import('http').IncomingMessage, res: import('http').ServerResponse) => void>}
 *   PrivateRoutes routes of a private listener, by path
 *
 * @param {object} dependencies
 * @param {import('./contract.js').InspectTransport} dependencies.transport
 * @param {string} dependencies.process its name
 * @param {string} dependencies.host name of its machine
 * @param {PrivateRoutes} dependencies.privateRoutes
 * @param {ConstructorParameters<typeof Inspector>[0]['metrics']} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createInspectParts ({ transport, process, host, privateRoutes, metrics, log, clock, random }) {
  const inspector = new Inspector({ transport, process, host, metrics, log, clock })
  const feed = createInspectFeed({ transport, inspector, log, clock, random })
  privateRoutes.set('/inspect', feed.handle)
  return {
    inspector,
    start: () => inspector.start(),
    async stop () {
      feed.stop()
      await inspector.stop()
    }
  }
}
