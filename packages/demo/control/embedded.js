import { apiUrl } from '../../../src/operate/roles/banner.js'
import { createControl } from './control.js'
import { gatewayTarget, tokenOf } from './target.js'

/**
 * The control of the demo in embedded mode: the crowd, and nothing to break.
 *
 * @param {object} dependencies
 * @param {import('../../../src/config/load.js').Config} dependencies.config
 * @param {{ gateway: () => number, api: () => number }} dependencies.ports as they are bound
 * @param {ReturnType<typeof import('../../../src/base/process/lifecycle.js').createLifecycle>} dependencies.lifecycle
 * @param {import('../../../src/base/common/log.js').Log} dependencies.log
 * @param {import('../../../src/base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../src/base/common/random.js').Random} dependencies.random
 * @returns {Promise<import('./answers.js').Ask>}
 */
export async function startEmbeddedControl ({ config, ports, lifecycle, log, clock, random }) {
  const control = await lifecycle.start('demo control', createControl({
    apiUrl: () => apiUrl({ ...config.api, port: ports.api() }),
    token: tokenOf(config.api),
    auth: config.auth,
    history: config.history.size,
    target: () => gatewayTarget(config.gateway, ports.gateway()),
    reason: 'embedded',
    log, clock, random
  }))
  return control.ask
}
