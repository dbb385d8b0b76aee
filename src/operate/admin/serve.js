import { diagnose, readMachine } from '../../base/machine/limits.js'
import { adminCertificate, startCertificates } from '../../config/tls/listeners.js'
import { createAgent } from './agent.js'
import { createCordon } from './control/cordon.js'
import { createMoveControl } from './control/move.js'
import { createInspectProxy } from './inspect-proxy.js'
import { connectionsOfFull } from './machine-weight.js'
import { createLogLevels } from './log-levels.js'
import { createProcesses } from './processes.js'
import { createAdminServer } from './server.js'

/**
 * Serves ADMIN_PORT and AGENT_PORT for all processes of this machine, and logs problems of the machine. The launcher
 * does this; under PM2 the first api process; without both a process that runs alone.
 *
 * @param {object} context
 * @param {import('../../config/load.js').Config} context.config
 * @param {string} context.directory with the private listeners of the processes
 * @param {Record<string, number>} context.expected processes by role
 * @param {Parameters<typeof createProcesses>[0]['own']} [context.own]
 * @param {Parameters<typeof createProcesses>[0]['isHung']} [context.isHung]
 * @param {import('./log-levels.js').LogLevels} [context.logLevels]
 * @param {Parameters<typeof createCordon>[0]['onChange']} [context.onCordon]
 * @param {Parameters<typeof createMoveControl>[0]['onBegin']} [context.onMove]
 * @param {ReturnType<typeof import('../../base/process/lifecycle.js').createLifecycle>} context.lifecycle
 * @param {ReturnType<typeof import('./status.js').createStatus>} context.status
 * @param {import('../../observe/metrics/metrics.js').Metrics} context.metrics
 * @param {import('../../base/common/log.js').Log} context.log
 * @param {import('../../base/common/clock.js').Clock} context.clock
 * @throws {Error} if a port is taken, or a certificate cannot be read
 */
export async function serveAdmin ({
  config, directory, expected, own, isHung, logLevels = createLogLevels({ directory }), onCordon, onMove, lifecycle,
  status, metrics, log, clock
}) {
  for (const problem of diagnose(readMachine(), config)) log.warn(problem)
  const processes = createProcesses({ directory, expected, own, isHung })
  const certificate = adminCertificate({ config, log, metrics, clock })
  await startCertificates([certificate], { lifecycle, status })
  await lifecycle.start(
    'admin server',
    createAdminServer({
      settings: config.admin,
      certificate,
      production: config.production,
      log,
      processes,
      logLevels,
      cordon: createCordon({ directory, onChange: onCordon }),
      move: createMoveControl({ directory, onBegin: onMove }),
      inspect: createInspectProxy({ directory }),
      clock
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
