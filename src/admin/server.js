import http from 'node:http'
import { AggregatorRegistry } from 'prom-client'
import { isPublicName } from '../process/host-name.js'
import { listen } from '../process/listen.js'
import { endSockets, serverOptions, TIMES } from '../process/socket-times.js'
import { createSharedLook } from './shared-look.js'

/** Scrapers come back after seconds. @type {import('../process/socket-times.js').Times} */
const ADMIN_TIMES = { ...TIMES, keepAlive: 5000 }

/** Those who ask come one at a time, from a few places. */
const MAX_CONNECTIONS = 256

/**
 * `/metrics` (merged over all processes), `/live` and `/ready` on ADMIN_HOST:ADMIN_PORT.
 *
 * @param {object} dependencies
 * @param {Readonly<{ host: string, port: number }>} dependencies.settings config.admin
 * @param {{ read: () => Promise<import('./processes.js').Overview> }} dependencies.processes
 * @param {boolean} dependencies.production config.production
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {Pick<import('../common/clock.js').Clock, 'monotonic'>} dependencies.clock
 * @param {import('../process/socket-times.js').Times} [dependencies.times]
 */
export function createAdminServer ({ settings, production, processes: all, log, clock, times = ADMIN_TIMES }) {
  const readMetrics = createSharedLook(async () => {
    const { processes } = await all.read()
    const merged = AggregatorRegistry.aggregate(
      processes.map((process) => process.metrics).filter((list) => list.length > 0)
    )
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

  const server = http.createServer(serverOptions(times), (req, res) => {
    /** @param {unknown} error */
    const fail = (error) => {
      log.warn({ err: error }, 'status could not be read')
      if (res.headersSent) res.destroy()
      else res.writeHead(500).end()
    }
    const path = req.url?.split('?', 1)[0]
    if (!production && isPublicName(req.headers.host))
      res
        .writeHead(403, { 'content-type': 'text/plain' })
        .end('not under this name: use an address, or NODE_ENV=production\n')
    else if (req.method !== 'GET' && req.method !== 'HEAD') res.writeHead(405).end()
    else if (path === '/metrics') metrics(res).catch(fail)
    else if (path === '/ready') ready(res).catch(fail)
    else if (path === '/live') res.writeHead(200, { 'content-type': 'application/json' }).end('{"live":true}')
    else res.writeHead(404, { 'content-type': 'text/plain' }).end('/metrics, /live and /ready are here\n')
  })
  endSockets(server, times)
  server.maxConnections = MAX_CONNECTIONS

  return {
    /** @throws {Error} if the port is taken */
    start: () => listen(server, { host: settings.host, port: settings.port }),
    stop () {
      server.close()
      server.closeAllConnections()
    },
    port () { return /** @type {import('net').AddressInfo} */ (server.address()).port }
  }
}
