import { transports } from 'engine.io'
import { composeEmbedded } from '../../src/operate/roles/embedded.js'
import { loadConfig } from '../../src/config/load.js'
import { systemClock } from '../../src/base/common/clock.js'
import { postTo } from './post.js'
import { roleContext, testLog } from './role-context.js'

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
  log = testLog(),
  { clock = systemClock, ...times } = {}
) {
  const loaded = loadConfig({ env: { PORT: '0', API_PORT: '0', ADMIN_PORT: '0', WORKERS: '1', ...env } })
  const config = { ...loaded, limits: { ...loaded.limits, ...times } }
  const context = await roleContext(t, { name: 'embedded-0', hostName: 'here', config, log, clock })
  const { metrics, lifecycle, status } = context
  const { gateway, api, grpcPort } = await composeEmbedded(context)
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
    post: (path, body, headers) => postTo(apiUrl + path, body, headers)
  }
}
