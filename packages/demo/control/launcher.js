import { createPrivateListener } from '../../../src/operate/admin/private-listener.js'
import { needsStore } from '../../../src/config/load.js'
import { apiUrl } from '../../../src/operate/roles/banner.js'
import { createDocuments } from '../documents/documents.js'
import { createDocumentsRoute, DOCUMENTS_PATH } from '../documents/in-launcher.js'
import { CONTROL_PATH, controlSocket, createControlRoute } from './answers.js'
import { createControl } from './control.js'
import { cutSubscribers, freezeRedis } from './redis-faults.js'
import { gatewayTarget, tokenOf } from './target.js'

/** Redis answers nothing for this time, ms. */
const FREEZE = 3000

/**
 * A place of a process (src/operate/launcher/slot.js).
 * @typedef {object} Place
 * @property {string} name
 * @property {boolean} ready
 * @property {{ role: string }} settings
 * @property {Pick<import('../../../src/operate/launcher/child.js').Child,
 *   'pid' | 'workerNumber' | 'connections'> | undefined} current
 * @property {() => void} sacrifice
 */

/**
 * The control of the demo in the launcher, for the pages that gateway workers serve.
 *
 * @param {object} dependencies
 * @param {import('../../../src/config/load.js').Config} dependencies.config
 * @param {string} dependencies.runDirectory
 * @param {readonly string[]} dependencies.redisUrls of Redis, or of the built-in store
 * @param {readonly Place[]} dependencies.slots
 * @param {() => Promise<string | null>} dependencies.reload
 * @param {ReturnType<typeof import('../../../src/operate/admin/status.js').createStatus>} dependencies.status
 * @param {ReturnType<typeof import('../../../src/base/process/lifecycle.js').createLifecycle>} dependencies.lifecycle
 * @param {import('../../../src/base/common/log.js').Log} dependencies.log
 * @param {import('../../../src/base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../src/base/common/random.js').Random} dependencies.random
 */
export async function startLauncherControl ({
  config, runDirectory, redisUrls, slots, reload, status, lifecycle, log, clock, random
}) {
  const gateways = slots.filter(({ settings }) => settings.role === 'gateway')
  const control = createControl({
    apiUrl: () => apiUrl(config.api),
    token: tokenOf(config.api),
    auth: config.auth,
    history: config.history.size,
    target: () => gatewayTarget(config.gateway, config.gateway.port),
    machine: {
      workers: () => gateways.map(({ name, ready, current }) => ({
        name, ready, worker: current?.workerNumber, pid: current?.pid, connections: current?.connections ?? 0
      })),
      kill: (name) => gateways.find((slot) => slot.name === name)?.sacrifice(),
      reload,
      freeze: () => freezeRedis({ urls: redisUrls, pause: FREEZE, log, clock, random }),
      cut: () => cutSubscribers({ urls: redisUrls, log, clock, random })
    },
    store: needsStore(config) ? 'the store' : 'Redis',
    log,
    clock,
    random
  })
  await lifecycle.start('demo control', control)
  const documents = createDocuments({ apiUrl: () => apiUrl(config.api), token: tokenOf(config.api), log, random })
  lifecycle.onStop('demo documents', () => documents.stop())
  await lifecycle.start('demo control listener', createPrivateListener({
    path: controlSocket(runDirectory),
    status,
    routes: new Map([
      [CONTROL_PATH, createControlRoute(control.ask)], [DOCUMENTS_PATH, createDocumentsRoute(documents, log)]
    ]),
    log,
    clock
  }))
}
