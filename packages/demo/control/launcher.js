import { createDocuments } from '../documents/documents.js'
import { createDocumentsRoute, DOCUMENTS_PATH } from '../documents/in-launcher.js'
import { CONTROL_PATH, createControlRoute } from './answers.js'
import { Control } from './control.js'
import { cutSubscribers, freezeRedis } from './redis-faults.js'
import { tokenOf } from './target.js'

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
 * @param {import('../index.js').Inkcast} inkcast
 * @param {import('../index.js').Services} services
 * @param {object} parts
 * @param {import('../index.js').Config} parts.config
 * @param {string} parts.runDirectory
 * @param {readonly string[]} parts.redisUrls of Redis, or of the built-in store
 * @param {{ slots: readonly Place[], reload: () => Promise<string | null> }} parts.places
 * @param {ReturnType<typeof import('../../../src/operate/admin/status.js').createStatus>} parts.status
 * @param {import('../index.js').Lifecycle} parts.lifecycle
 */
export async function startLauncherControl (
  inkcast, services, { config, runDirectory, redisUrls: urls, places, status, lifecycle }
) {
  const { log, clock, random } = services
  const { api, gateway } = config
  const gateways = places.slots.filter(({ settings }) => settings.role === 'gateway')
  const control = await lifecycle.start('demo control', new Control(inkcast, services, {
    config,
    ports: { gateway: () => gateway.port, api: () => api.port },
    machine: {
      workers: () => gateways.map(({ name, ready, current }) => ({
        name, ready, worker: current?.workerNumber, pid: current?.pid, connections: current?.connections ?? 0
      })),
      kill: (name) => gateways.find((slot) => slot.name === name)?.sacrifice(),
      reload: () => places.reload(),
      freeze: () => freezeRedis({ inkcast, services, urls, pause: FREEZE }),
      cut: () => cutSubscribers({ inkcast, services, urls })
    },
    store: inkcast.needsStore(config) ? 'the store' : 'Redis'
  }))
  const apiUrl = inkcast.apiUrl(api)
  const documents = createDocuments(inkcast, { apiUrl: () => apiUrl, token: tokenOf(api), log, random })
  lifecycle.onStop('demo documents', () => documents.stop())
  await lifecycle.start('demo control listener', inkcast.createPrivateListener({
    path: inkcast.demoSocket(runDirectory),
    status,
    routes: new Map([
      [CONTROL_PATH, createControlRoute(inkcast, control.ask)],
      [DOCUMENTS_PATH, createDocumentsRoute(inkcast, documents, log)]
    ]),
    log,
    clock
  }))
}
