import http from 'node:http'
import https from 'node:https'
import { AggregatorRegistry } from 'prom-client'
import { isPublicName } from '../../base/process/host-name.js'
import { listen } from '../../base/process/listen.js'
import { createListenerGuard } from '../../base/process/listener-guard.js'
import { targetOf } from '../../base/process/request-target.js'
import { endSockets, serverOptions, TIMES } from '../../base/process/socket-times.js'
import { createAdminAccess } from './access.js'
import { answerError, answerJson } from './answers.js'
import { createEndedCounts } from './ended-counts.js'
import { createSamples } from './figures/samples.js'
import { answerCordon } from './control/cordon.js'
import { answerMove } from './control/move.js'
import { answerLogLevel } from './log-level-route.js'
import { createPageFiles } from './page-files.js'
import { createSharedLook } from './shared-look.js'
import { statusAnswer } from './status-answer.js'

/** Scrapers come back after seconds. @type {import('../../base/process/socket-times.js').Times} */
const ADMIN_TIMES = { ...TIMES, keepAlive: 5000 }

/** Requests come one at a time, from a few places. */
const MAX_CONNECTIONS = 256

/**
 * `/metrics` (merged over all processes), `/live`, `/ready`, `/loglevel`, `/status` and the status page on
 * ADMIN_HOST:ADMIN_PORT.
 *
 * @param {object} dependencies
 * @param {Readonly<{ host: string, port: number, token?: string, readToken?: string }>} dependencies.settings
 *   config.admin
 * @param {{ read: () => Promise<import('./processes.js').Overview> }} dependencies.processes
 * @param {import('./log-levels.js').LogLevels} [dependencies.logLevels]
 * @param {import('./control/cordon.js').Cordon} [dependencies.cordon]
 * @param {import('./control/move.js').MoveControl} [dependencies.move]
 * @param {ReturnType<typeof import('./inspect-proxy.js').createInspectProxy>} [dependencies.inspect]
 * @param {import('../../config/tls/certificate.js').Certificate} [dependencies.certificate] started; default: no TLS
 * @param {boolean} dependencies.production config.production
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/process/socket-times.js').Times} [dependencies.times]
 */
export function createAdminServer ({
  settings, production, processes: all, logLevels, cordon, move, inspect, certificate, log, clock, times = ADMIN_TIMES
}) {
  const checkRight = createAdminAccess(settings, production)
  const files = createPageFiles()
  const endedCounts = createEndedCounts()
  const samples = createSamples({ processes: all, clock, log })
  const readMetrics = createSharedLook(async () => {
    const { processes } = await all.read()
    const merged = AggregatorRegistry.aggregate(await endedCounts.add(processes))
    return { type: merged.contentType, text: await merged.metrics() }
  }, { clock })
  const readProcesses = createSharedLook(() => all.read(), { clock })

  /** @param {http.ServerResponse} res */
  async function metrics (res) {
    const { type, text } = await readMetrics()
    res.writeHead(200, { 'content-type': type }).end(text)
  }

  /** @param {http.ServerResponse} res */
  async function ready (res) {
    const { processes, reasons } = await readProcesses()
    res
      .writeHead(reasons.length === 0 ? 200 : 503, { 'content-type': 'application/json' })
      .end(
        JSON.stringify({
          ready: reasons.length === 0,
          reasons,
          warnings: processes.flatMap(({ name, warnings = [] }) => warnings.map((warning) => `${name}: ${warning}`)),
          processes: processes.map(({ name, notReady }) => ({ name, ready: notReady.length === 0 }))
        })
      )
  }

  /**
   * `GET /status`: the figures of the status page, later than `after` (docs/status.md).
   * @param {http.IncomingMessage} req
   * @param {http.ServerResponse} res
   * @param {URLSearchParams} query
   */
  async function status (req, res, query) {
    checkRight(req, 'read')
    answerJson(res, 200, statusAnswer(await samples.read(Number(query.get('after') ?? 0) || 0)))
  }

  /**
   * `GET /inspect`: what all processes see of a document, a user or a trace (docs/status.md).
   * @param {http.IncomingMessage} req
   * @param {http.ServerResponse} res
   * @param {URLSearchParams} query
   */
  async function watch (req, res, query) {
    checkRight(req, 'read')
    await inspect?.(res, query)
  }

  /** @type {http.RequestListener} */
  const answer = (req, res) => {
    /** @param {unknown} error */
    const fail = (error) => {
      log.warn({ err: error }, 'status could not be read')
      if (res.headersSent) res.destroy()
      else res.writeHead(500).end()
    }
    const target = targetOf(req)
    if (target === null) return void res.writeHead(400, { connection: 'close' }).end()
    const { path, query } = target
    if (!production && isPublicName(req.headers.host))
      res
        .writeHead(403, { 'content-type': 'text/plain' })
        .end('not under this name: use an address, or NODE_ENV=production\n')
    else if (path === '/cordon' && cordon !== undefined)
      answerCordon(req, res, { cordon, checkRight }).catch((error) => answerError(res, error, log))
    else if (path === '/move' && move !== undefined)
      answerMove(req, res, { move, checkRight }).catch((error) => answerError(res, error, log))
    else if (path === '/loglevel' && logLevels !== undefined)
      answerLogLevel(req, res, { logLevels, checkRight }).catch((error) => answerError(res, error, log))
    else if (req.method !== 'GET' && req.method !== 'HEAD') res.writeHead(405).end()
    else if (path === '/metrics') metrics(res).catch(fail)
    else if (path === '/ready') ready(res).catch(fail)
    else if (path === '/live') res.writeHead(200, { 'content-type': 'application/json' }).end('{"live":true}')
    else if (path === '/inspect' && inspect !== undefined) watch(req, res, query).catch((error) => answerError(res, error, log))
    else if (path === '/status') status(req, res, query).catch((error) => answerError(res, error, log))
    else files(req, res, path, () => notFound(res))
  }
  // whether a client certificate is required is known from the files: with authorities there is no other way in
  const secure = certificate?.serverOptions()
  const server = secure === undefined
    ? http.createServer(serverOptions(times))
    : https.createServer({ ...serverOptions(times), ...secure, rejectUnauthorized: true })
  server.on('request', createListenerGuard({ name: 'admin', log, clock }).request(answer))
  if (server instanceof https.Server) certificate?.serve(server)
  endSockets(server, times, clock)
  server.maxConnections = MAX_CONNECTIONS

  return {
    /** @throws {Error} if the port is taken */
    async start () {
      await listen(server, { host: settings.host, port: settings.port })
      samples.start()
    },
    stop () {
      samples.stop()
      server.close()
      server.closeAllConnections()
    },
    port () { return /** @type {import('net').AddressInfo} */ (server.address()).port }
  }
}

/** @param {http.ServerResponse} res */
function notFound (res) {
  if (res.headersSent) return void res.destroy()
  res
    .writeHead(404, { 'content-type': 'text/plain' })
    .end('/metrics, /live, /ready, /loglevel, /cordon, /move, /status, /inspect and the status page at / are here\n')
}
