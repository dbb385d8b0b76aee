import { diagnose, readMachine } from '../../base/machine/limits.js'
import { adminCertificate, startCertificates } from '../../config/tls/listeners.js'
import { createAgent } from './agent.js'
import { createCordon } from './control/cordon.js'
import { createMoveControl } from './control/move.js'
import { createInspectProxy } from './inspect-proxy.js'
import { connectionsOfFull } from './machine-weight.js'
import { createLogLevels } from './log-levels.js'
import { createProcesses } from './processes.js'
import { AdminServer } from './server.js'

/**
 * Knowledge and abilities that only the launcher has.
 * @typedef {object} LauncherContext
 * @property {Parameters<typeof createProcesses>[0]['own']} own
 * @property {Parameters<typeof createProcesses>[0]['isHung']} isHung
 * @property {import('./log-levels.js').LogLevels} logLevels
 * @property {Parameters<typeof createCordon>[0]['onChange']} onCordon
 * @property {Parameters<typeof createMoveControl>[0]['onBegin']} onMove
 */

/**
 * Serves ADMIN_PORT and AGENT_PORT for all processes of this machine, and logs problems of the machine. The launcher
 * does this; under PM2 the first api process; without both a process that runs alone.
 *
 * @param {Pick<import('../../observe/services.js').Services, 'log' | 'metrics' | 'clock'>} services
 * @param {object} context
 * @param {import('../../config/load.js').Config} context.config
 * @param {string} context.directory with the private listeners of the processes
 * @param {Record<string, number>} context.expected processes by role
 * @param {ReturnType<typeof import('../../base/process/lifecycle.js').createLifecycle>} context.lifecycle
 * @param {ReturnType<typeof import('./status.js').createStatus>} context.status
 * @param {Partial<LauncherContext>} [context.launcher] default: without it
 * @throws {Error} if a port is taken, or a certificate cannot be read
 */
export async function serveAdmin (services, { config, directory, expected, lifecycle, status, launcher = {} }) {
  const { log, metrics, clock } = services
  for (const problem of diagnose(readMachine(), config)) log.warn(problem)
  const processes = createProcesses({ directory, expected, own: launcher.own, isHung: launcher.isHung })
  const certificate = adminCertificate({ config, log, metrics, clock })
  await startCertificates([certificate], { lifecycle, status })
  await lifecycle.start(
    'admin server',
    new AdminServer({
      settings: config.admin,
      production: config.production,
      processes,
      tools: {
        logLevels: launcher.logLevels ?? createLogLevels({ directory }),
        cordon: createCordon({ directory, onChange: launcher.onCordon }),
        move: createMoveControl({ directory, onBegin: launcher.onMove }),
        inspect: createInspectProxy({ directory })
      },
      certificate, log, clock
    })
  )
  await lifecycle.start(
    'load agent',
    createAgent({
      settings: config.admin, capacity: connectionsOfFull(expected.gateway ?? 1, config.limits.maxConnections),
      processes, log, clock
    })
  )
}
