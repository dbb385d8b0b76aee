import { createPrivateListener } from '../../admin/private-listener.js'
import { apiUrl } from '../../process/banner.js'
import { CONTROL_PATH, controlSocket, createControlRoute } from './answers.js'
import { createControl } from './control.js'
import { freezeRedis } from './freeze.js'
import { gatewayTarget, tokenOf } from './target.js'

/** Redis answers nothing for this time, ms. */
const FREEZE = 3000

/**
 * A place of a process (src/launcher/slot.js).
 * @typedef {object} Place
 * @property {string} name
 * @property {boolean} ready
 * @property {{ role: string }} settings
 * @property {Pick<import('../../launcher/child.js').Child, 'pid' | 'workerNumber' | 'connections'> | undefined} current
 * @property {() => void} sacrifice
 */

/**
 * The control of the demo in the launcher, for the pages that gateway workers serve.
 *
 * @param {object} dependencies
 * @param {import('../../config/load.js').Config} dependencies.config
 * @param {string} dependencies.runDirectory
 * @param {readonly Place[]} dependencies.slots
 * @param {() => Promise<string | null>} dependencies.reload
 * @param {ReturnType<typeof import('../../admin/status.js').createStatus>} dependencies.status
 * @param {ReturnType<typeof import('../../process/lifecycle.js').createLifecycle>} dependencies.lifecycle
 * @param {import('../../common/log.js').Log} dependencies.log
 * @param {import('../../common/clock.js').Clock} dependencies.clock
 * @param {import('../../common/random.js').Random} dependencies.random
 */
export async function startLauncherControl ({
  config, runDirectory, slots, reload, status, lifecycle, log, clock, random
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
      freeze: () => freezeRedis({ urls: config.redis.urls, pause: FREEZE, log, clock, random })
    },
    log,
    clock,
    random
  })
  await lifecycle.start('demo control', control)
  await lifecycle.start('demo control listener', createPrivateListener({
    path: controlSocket(runDirectory), status, routes: new Map([[CONTROL_PATH, createControlRoute(control.ask)]]), log
  }))
}
