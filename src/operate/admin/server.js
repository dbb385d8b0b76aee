import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import { publicError } from '../../base/common/errors.js'
import { isPublicName } from '../../base/process/host-name.js'
import { listen } from '../../base/process/listen.js'
import { createListenerGuard } from '../../base/process/listener-guard.js'
import { targetOf } from '../../base/process/request-target.js'
import { endSockets, serverOptions, TIMES } from '../../base/process/socket-times.js'
import { createAdminAccess } from './access.js'
import { answerError, answerJson, answerMethod } from './answers.js'
import { createEndedCounts } from './ended-counts.js'
import { createSamples } from './figures/samples.js'
import { cordonMethods } from './control/cordon.js'
import { moveMethods } from './control/move.js'
import { logLevelMethods } from './log-levels.js'
import { createPageFiles } from './page-files.js'
import { createSharedLook } from './shared-look.js'
import { statusAnswer } from './status-answer.js'

const require = createRequire(import.meta.url)
const { AggregatorRegistry } = require('prom-client')

/** Scrapers come back after seconds. @type {import('../../base/process/socket-times.js').Times} */
const ADMIN_TIMES = { ...TIMES, keepAlive: 5000 }

/** Requests come one at a time, from a few places. */
const MAX_CONNECTIONS = 256

/**
 * Routes for operators beside the status.
 * @typedef {object} Tools
 * @property {import('./log-levels.js').LogLevels} logLevels
 * @property {import('./control/cordon.js').Cordon} cordon
 * @property {import('./control/move.js').MoveControl} move
 * @property {ReturnType<typeof import('./inspect-proxy.js').createInspectProxy>} inspect
 */

/**
 * `/metrics` (merged over all processes), `/live`, `/ready`, `/loglevel`, `/status` and the status page on
 * ADMIN_HOST:ADMIN_PORT.
 */
export class AdminServer {
  #server

  /**
   * @param {object} dependencies
   * @param {Readonly<{ host: string, port: number, token?: string, readToken?: string }>} dependencies.settings
   *   config.admin
   * @param {boolean} dependencies.production config.production
   * @param {Pick<ReturnType<typeof import('./processes.js').createProcesses>, 'read'>} dependencies.processes
   * @param {Partial<Tools>} [dependencies.tools]
   * @param {import('../../config/tls/certificate.js').Certificate} [dependencies.certificate] started; default: no TLS
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {import('../../base/common/clock.js').Clock} dependencies.clock
   * @param {import('../../base/process/socket-times.js').Times} [dependencies.times]
   */
  constructor ({ settings, production, processes, tools = {}, certificate, log, clock, times = ADMIN_TIMES }) {
    this.settings = settings
    this.production = production
    this.tools = tools
    this.log = log
    this.files = createPageFiles()
    this.checkRight = createAdminAccess(settings, production)
    this.samples = createSamples({ processes, clock, log })
    this.readProcesses = createSharedLook(() => processes.read('none'), { clock })
    const endedCounts = createEndedCounts()
    this.readMetrics = createSharedLook(async () => {
      const merged = AggregatorRegistry.aggregate(await endedCounts.add((await processes.read()).processes))
      return { type: merged.contentType, text: await merged.metrics() }
    }, { clock })
    // whether a client certificate is required is known from the files: with authorities there is no other way in
    const secure = certificate?.serverOptions()
    const server = this.#server = secure === undefined
      ? http.createServer(serverOptions(times))
      : https.createServer({ ...serverOptions(times), ...secure, rejectUnauthorized: true })
    const guard = createListenerGuard({ name: 'admin', log, clock })
    server.on('request', guard.request(this.#answer))
    if (server instanceof https.Server) certificate?.serve(server)
    endSockets(server, times, clock)
    server.maxConnections = MAX_CONNECTIONS
  }

  /** @throws {Error} if the port is taken */
  async start () {
    await listen(this.#server, { host: this.settings.host, port: this.settings.port })
    this.samples.start()
  }

  stop () {
    this.samples.stop()
    this.#server.close()
    this.#server.closeAllConnections()
  }

  port () { return /** @type {import('net').AddressInfo} */ (this.#server.address()).port }

  /** @type {http.RequestListener} */
  #answer = (req, res) => {
    const target = targetOf(req)
    if (target === null) return void res.writeHead(400, { connection: 'close' }).end()
    const { path } = target
    const { checkRight, tools: { logLevels, cordon, move, inspect } } = this
    const fail = (/** @type {unknown} */ error) => {
      this.log.warn({ err: error }, 'status could not be read')
      if (res.headersSent) res.destroy()
      else res.writeHead(500).end()
    }
    /** @param {Promise<void>} answer */
    const orError = (answer) => void answer.catch((error) => answerError(res, error, this.log))
    if (!this.production && isPublicName(req.headers.host))
      res
        .writeHead(403, { 'content-type': 'text/plain' })
        .end('not under this name: use an address, or NODE_ENV=production\n')
    else if (path === '/cordon' && cordon) orError(answerMethod(req, res, checkRight, cordonMethods(cordon)))
    else if (path === '/move' && move) orError(answerMethod(req, res, checkRight, moveMethods(move)))
    else if (path === '/loglevel' && logLevels)
      orError(answerMethod(req, res, checkRight, logLevelMethods(logLevels)))
    else if (req.method !== 'GET' && req.method !== 'HEAD') res.writeHead(405).end()
    else if (path === '/metrics') this.#metrics(res).catch(fail)
    else if (path === '/ready') this.#ready(res).catch(fail)
    else if (path === '/live') res.writeHead(200, { 'content-type': 'application/json' }).end('{"live":true}')
    else if (path === '/access') answerJson(res, 200, this.#access(req))
    else if (path === '/status' || (path === '/inspect' && inspect)) orError(this.#read(req, res, target))
    else this.files(req, res, path, () => notFound(res))
  }

  /** @param {http.ServerResponse} res */
  async #metrics (res) {
    const { type, text } = await this.readMetrics()
    res.writeHead(200, { 'content-type': type }).end(text)
  }

  /** @param {http.ServerResponse} res */
  async #ready (res) {
    const { processes, reasons } = await this.readProcesses()
    const ready = reasons.length === 0
    res.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(JSON.stringify({
      ready,
      reasons,
      warnings: processes.flatMap(({ name, warnings = [] }) => warnings.map((warning) => `${name}: ${warning}`)),
      processes: processes.map(({ name, notReady }) => ({ name, ready: notReady.length === 0 }))
    }))
  }

  /**
   * Asked by the status page first: a request that fails would be an error in the console of each browser.
   * @param {http.IncomingMessage} req
   */
  #access (req) {
    try {
      this.checkRight(req, 'read')
      return { read: true }
    } catch (error) {
      return { read: false, message: publicError(error).message }
    }
  }

  /**
   * The figures of the status page, later than `after`; or what all processes see of a document, a user or a trace
   * (docs/status.md).
   * @param {http.IncomingMessage} req
   * @param {http.ServerResponse} res
   * @param {{ path: string, query: URLSearchParams }} target
   */
  async #read (req, res, { path, query }) {
    this.checkRight(req, 'read')
    if (path === '/inspect') await this.tools.inspect?.(res, query)
    else answerJson(res, 200, statusAnswer(await this.samples.read(Number(query.get('after') ?? 0) || 0)))
  }
}

/** @param {http.ServerResponse} res */
function notFound (res) {
  if (res.headersSent) return void res.destroy()
  res
    .writeHead(404, { 'content-type': 'text/plain' })
    .end('/metrics, /live, /ready, /loglevel, /cordon, /move, /status, /inspect and the status page at / are here\n')
}
