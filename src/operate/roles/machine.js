import { createHungProcesses } from '../admin/control/hung-processes.js'
import { serveAdmin } from '../admin/serve.js'
import { processesOf } from '../../config/load.js'
import { settingWarnings } from '../../people/workers/setting-warnings.js'

/**
 * Work for all processes of this machine, by one of them where there is no launcher: under PM2, and for a process that
 * runs alone. The others do not load this file.
 *
 * @param {Pick<import('../../observe/services.js').Services, 'log' | 'metrics' | 'clock'>} services
 * @param {object} process
 * @param {string} process.role
 * @param {import('../../config/load.js').Config} process.config
 * @param {import('../../config/load.js').LauncherContext} process.launcher
 * @param {string} process.directory with the private listeners
 * @param {ReturnType<typeof import('../../base/process/lifecycle.js').createLifecycle>} process.lifecycle
 * @param {ReturnType<typeof import('../admin/status.js').createStatus>} process.status
 */
export async function serveMachine (services, { role, config, launcher, directory, lifecycle, status }) {
  const { log, metrics, clock } = services
  const expected = launcher.runDirectory === undefined ? { [role]: 1 } : processesOf(config)
  await serveAdmin(services, { config, directory, expected, lifecycle, status })
  for (const { text, todo } of settingWarnings(config)) log.warn(`${text}: ${todo}`)
  // the launcher watches its processes itself; PM2 does not
  if (launcher.runDirectory !== undefined)
    await lifecycle.start('hung processes', createHungProcesses({ directory, metrics, log, clock }))
}
