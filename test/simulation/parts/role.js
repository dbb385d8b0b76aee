import { createPrivateListener } from '../../../src/operate/admin/private-listener.js'
import { createStatus } from '../../../src/operate/admin/status.js'
import { launcherContext } from '../../../src/config/load.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createLifecycle } from '../../../src/base/process/lifecycle.js'
import { VERSION } from '../../../src/base/process/version.js'
import { directoryOf } from './launcher.js'
import { worldLog } from './log.js'

/**
 * @typedef {(context: import('../../../src/operate/roles/role.js').RoleContext)
 *   => Promise<import('../../../src/operate/roles/role.js').Composed | void>} Compose
 */

/**
 * Runs a role of inkcast as a process of a world, as src/operate/roles/role.js does with a real one: what it does with
 * signals,
 * files and the launcher is replaced.
 *
 * @typedef {object} RunningRole
 * @property {import('../world/sim-process.js').SimProcess} process
 * @property {boolean} isReady it has started, and does not stop
 * @property {() => string[]} notReady reasons that /ready gives
 * @property {() => void} stop as SIGTERM: it ends in order, within DRAIN_TIMEOUT
 * @property {import('../../../src/operate/roles/role.js').Composed | undefined} composed
 * @property {import('../../../src/observe/metrics/metrics.js').Metrics} metrics
 * @property {import('../../../src/watch/inspect/parts.js').PrivateRoutes} privateRoutes
 * @property {ReturnType<typeof createStatus>} status
 * @property {unknown} failure why it did not start
 *
 * @param {object} options
 * @param {import('../world/sim-process.js').SimProcess} options.process
 * @param {string} options.role
 * @param {number} options.slot
 * @param {import('../../../src/config/load.js').Config} options.config
 * @param {Compose} options.compose
 * @param {() => import('../../../src/kafka/contract.js').KafkaDriver} options.createKafka
 * @param {boolean} [options.inspects] whether the process has an inspector
 * @param {Record<string, string | undefined>} [options.env] of its launcher; default: it has none, as with PM2
 * @returns {RunningRole}
 */
export function runRoleIn ({ process, role, slot, config, compose, createKafka, inspects = false, env }) {
  const { clock, random, host, world } = process
  const log = worldLog(process)
  const lifecycle = createLifecycle({ log })
  const metrics = createMetrics({ role, processMetrics: false })
  const name = `${role}-${slot}`
  const status = createStatus({ name, metrics })
  const directory = directoryOf(process.machine)
  // no handle is passed on in a world
  const launcher = launcherContext({
    ...env, INKCAST_SLOT: String(slot), INKCAST_RUN_DIRECTORY: directory, INKCAST_RELAY: undefined
  })
  status.cordon(launcher.cordoned)
  const tell = (/** @type {object} */ message) => { if (env !== undefined) host.send(message) }
  let isStopping = false
  /** @type {RunningRole} */
  const running = {
    process,
    isReady: false,
    notReady: () => status.notReady(),
    composed: undefined,
    metrics,
    status,
    privateRoutes: new Map(),
    failure: undefined,
    stop () {
      if (isStopping || !process.isAlive) return
      isStopping = true
      process.enter('stop', async () => {
        running.isReady = false
        status.stopping()
        clock.timer(config.gateway.drainTimeout + 1000, () => {
          world.violation(`${process.name} did not stop within DRAIN_TIMEOUT`)
          process.end(1)
        })
        await lifecycle.stop()
        process.end(0)
      })
    }
  }
  let isListening = false
  const listenPrivately = async () => {
    if (isListening || env === undefined) return
    isListening = true
    const path = `${directory}/${role}-${slot}.${process.pid}.sock`
    await lifecycle.start(
      'private listener', createPrivateListener({ path, status, routes: running.privateRoutes, log, clock })
    )
  }
  process.enter('start', async () => {
    host.onMessage((message) => {
      if (message?.type === 'ask') tell({ type: 'answer', inspected: false, connections: running.composed?.connections?.() })
      else if (message?.type === 'cordon') status.cordon(message.cordoned)
    })
    try {
      const composed = await compose({
        config,
        launcher, clock, random, host, log, lifecycle, metrics, status,
        privatePath: `${directory}/${role}-${slot}`,
        privateRoutes: running.privateRoutes,
        name,
        inspects,
        describe: async () => ({
          name, host: host.name, version: VERSION, startedAt: clock.now(), notReady: status.notReady(),
          connections: 0, documents: 0, lag: 0
        }),
        onWaits () {},
        createKafka: async () => createKafka(),
        rehearses: false,
        listenPrivately
      })
      running.composed = composed ?? {}
      await listenPrivately()
      status.started()
      running.isReady = !isStopping
      tell({ type: 'ready', workerNumber: running.composed.workerNumber, answers: true })
    } catch (error) {
      if (lifecycle.isStopping) return
      running.failure = error
      world.trace.note(world.time, `does not start: ${error}`, process)
      tell({ type: 'failed', message: String(error) })
      await lifecycle.stop()
      process.end(1)
    }
  })
  return running
}
