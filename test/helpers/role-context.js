import { rm } from 'node:fs/promises'
import { makeRunDirectory, privateSocket } from '../../src/operate/admin/run-directory.js'
import { describeProcess } from '../../src/operate/admin/figures/describe.js'
import { createStatus } from '../../src/operate/admin/status.js'
import { launcherContext } from '../../src/config/load.js'
import { createLifecycle } from '../../src/base/process/lifecycle.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createLog } from '../../src/base/common/log.js'
import { systemRandom } from '../../src/base/common/random.js'
import { systemHost } from '../../src/base/process/host.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { Tracing } from '../../src/observe/tracing/tracing.js'

/** @returns {import('../../src/base/common/log.js').Log} with the level TEST_LOG_LEVEL, or silent */
export const testLog = () => createLog({
  level: /** @type {any} */ (process.env.TEST_LOG_LEVEL ?? 'silent'), pretty: true, role: 'test', clock: systemClock
})

/**
 * The context that src/operate/roles/role.js gives to a role, for one in this process; its parts stop after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {string} options.name of the role's process
 * @param {string} options.hostName of its machine
 * @param {number} [options.slot]
 * @param {import('../../src/config/load.js').Config} options.config
 * @param {import('../../src/base/common/log.js').Log} options.log
 * @param {import('../../src/base/common/clock.js').Clock} [options.clock]
 * @returns {Promise<import('../../src/operate/roles/role.js').RoleContext>}
 */
export async function roleContext (t, { name, hostName, slot = 0, config, log, clock = systemClock }) {
  const [role] = name.split('-')
  const metrics = createMetrics({ role, processMetrics: false })
  const lifecycle = createLifecycle({ log })
  const directory = await makeRunDirectory()
  lifecycle.onStop('run directory', () => rm(directory, { recursive: true, force: true }))
  t.after(() => lifecycle.stop())
  await lifecycle.start('traces', new Tracing({ metrics, log, clock }))
  const status = createStatus({ name, metrics })
  return {
    name,
    config,
    launcher: launcherContext({ INKCAST_SLOT: String(slot) }),
    clock,
    random: systemRandom,
    host: {
      ...systemHost, name: hostName, exit (code) { throw new Error(`the process would end with ${code}`) }, onMessage: () => () => {}
    },
    privatePath: privateSocket(directory, role, slot),
    privateRoutes: new Map(),
    inspects: true,
    log, metrics, lifecycle, status,
    describe: () => describeProcess(status, hostName),
    onWaits: () => {},
    createKafka: async () => (await import('../../src/kafka/kafkajs/driver.js')).createKafkajs({
      settings: config.kafka, log, clock, name: role, metrics, onWaits () {}
    }),
    rehearses: false,
    listenPrivately: async () => {}
  }
}
