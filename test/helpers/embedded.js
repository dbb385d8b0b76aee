import { rm } from 'node:fs/promises'
import { transports } from 'engine.io'
import { makeRunDirectory, privateSocket } from '../../src/operate/admin/run-directory.js'
import { composeEmbedded } from '../../src/operate/roles/embedded.js'
import { describeProcess } from '../../src/operate/admin/figures/describe.js'
import { createStatus } from '../../src/operate/admin/status.js'
import { launcherContext, loadConfig } from '../../src/config/load.js'
import { createLifecycle } from '../../src/base/process/lifecycle.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createLog } from '../../src/base/common/log.js'
import { systemRandom } from '../../src/base/common/random.js'
import { systemHost } from '../../src/base/process/host.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { Tracing } from '../../src/observe/tracing/tracing.js'

/** Longest time for which a session on polling waits for one more poll before it ends, ms. */
const CLOSE_TIMEOUT = 5000
const kCloseTimeout = Symbol('closeTimeout')
// Engine.IO waits 30 s, also for sessions that have ended. Nothing clears its timer, so it would keep the process of a
// test file alive after the last test.
Object.defineProperty(Object.getPrototypeOf(transports.polling(/** @type {any} */ ({ _query: {} }))), 'closeTimeout', {
  get () { return this[kCloseTimeout] },
  set (ms) { this[kCloseTimeout] = Math.min(ms, CLOSE_TIMEOUT) }
})

/**
 * A whole inkcast in this process, on free ports, stopped after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {Record<string, string>} [env] settings
 * @param {import('../../src/base/common/log.js').Log} [log] default: TEST_LOG_LEVEL, or silent
 * @param {{ clock?: import('../../src/base/common/clock.js').Clock, slowTimeout?: number }} [times] a clock of its own,
 *   and times shorter than in production, ms
 */
export async function startEmbedded (
  t,
  env = {},
  log = createLog({ level: /** @type {any} */ (process.env.TEST_LOG_LEVEL ?? 'silent'), pretty: true, role: 'test', clock: systemClock }),
  { clock = systemClock, ...times } = {}
) {
  const loaded = loadConfig({ env: { PORT: '0', API_PORT: '0', ADMIN_PORT: '0', WORKERS: '1', ...env } })
  const config = { ...loaded, limits: { ...loaded.limits, ...times } }
  const metrics = createMetrics({ processMetrics: false })
  const lifecycle = createLifecycle({ log })
  const directory = await makeRunDirectory()
  lifecycle.onStop('run directory', () => rm(directory, { recursive: true, force: true }))
  t.after(() => lifecycle.stop())
  await lifecycle.start('traces', new Tracing({ metrics, log, clock }))
  const status = createStatus({ name: 'embedded-0', metrics })
  const { gateway, api, grpcPort } = await composeEmbedded({
    name: 'embedded-0',
    config,
    launcher: launcherContext({}),
    clock,
    random: systemRandom,
    host: {
      ...systemHost, name: 'here', exit (code) { throw new Error(`the process would end with ${code}`) }, onMessage: () => () => {}
    },
    privatePath: privateSocket(directory, 'embedded', 0),
    privateRoutes: new Map(),
    inspects: true,
    log, metrics, lifecycle, status,
    describe: () => describeProcess(status, 'here'),
    onWaits: () => {},
    createKafka () { throw new Error('this process has no Kafka') },
    rehearses: false,
    listenPrivately: async () => {}
  })
  status.started()
  const url = `http://127.0.0.1:${gateway.port()}`
  const apiUrl = `http://127.0.0.1:${api.port()}`
  return {
    url,
    apiUrl,
    /** with GRPC_PORT: '0' */
    grpcPort,
    gateway,
    metrics,
    status,
    /** Drains, and stops everything. */
    stop: () => lifecycle.stop(),
    /** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
    async post (path, body, headers = {}) {
      const raw = Buffer.isBuffer(body)
      const answer = await fetch(apiUrl + path, {
        method: 'POST',
        headers: { 'content-type': raw ? 'application/msgpack' : 'application/json', ...headers },
        body: raw ? new Uint8Array(body) : JSON.stringify(body)
      })
      return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
    }
  }
}
