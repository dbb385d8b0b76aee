import { systemRandom } from '../../src/base/common/random.js'
import { AdminServer } from '../../src/operate/admin/server.js'
import { createCordon } from '../../src/operate/admin/control/cordon.js'
import { createMoveControl } from '../../src/operate/admin/control/move.js'
import { createLogLevels } from '../../src/operate/admin/log-levels.js'
import { createPrivateListener } from '../../src/operate/admin/private-listener.js'
import { createProcesses } from '../../src/operate/admin/processes.js'
import { createStatus } from '../../src/operate/admin/status.js'
import { privateSocket } from '../../src/operate/admin/run-directory.js'
import { createLog } from '../../src/base/common/log.js'
import { createLogLevel } from '../../src/base/common/log-level-control.js'
import { systemClock } from '../../src/base/common/clock.js'
import { loadConfig } from '../../src/config/load.js'
import { Directory } from '../../src/gateway/directory.js'
import { createMoveRoute, Moves } from '../../src/gateway/leaving/moves.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { makeDirectory, removeDirectory } from '../services/directory.js'

/**
 * ADMIN_PORT of a machine with one process, `gateway-0`, which is this one.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} [env] settings
 */
export async function startAdmin (t, env = {}) {
  const config = loadConfig({ env: { ADMIN_PORT: '0', LOG_LEVEL: 'silent', ...env } })
  const directory = makeDirectory('admin')
  t.after(() => removeDirectory(directory))
  const log = createLog({ level: config.admin.logLevel, pretty: false, role: 'gateway', slot: 0, clock: systemClock })
  log.info = () => {}
  const metrics = createMetrics({ role: 'gateway' })
  const status = createStatus({ name: 'gateway-0', metrics })
  const moves = new Moves({ directory: new Directory(), metrics, clock: systemClock, random: systemRandom })
  t.after(() => moves.stop())
  const listener = createPrivateListener({
    path: privateSocket(directory, 'gateway', 0),
    status,
    routes: new Map([['/move', createMoveRoute(moves)]]),
    log,
    logLevel: createLogLevel({ log, usual: config.admin.logLevel }),
    clock: systemClock
  })
  await listener.start()
  t.after(() => listener.stop())
  const server = new AdminServer({
    settings: config.admin,
    production: config.production,
    processes: createProcesses({ directory, expected: { gateway: 1 } }),
    tools: {
      logLevels: createLogLevels({ directory }),
      cordon: createCordon({ directory }),
      move: createMoveControl({ directory })
    },
    log,
    clock: systemClock
  })
  await server.start()
  t.after(() => server.stop())
  status.started()
  return { url: `http://127.0.0.1:${server.port()}`, port: server.port(), log, status, metrics }
}
