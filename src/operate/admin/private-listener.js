import http from 'node:http'
import inspector from 'node:inspector'
import { createListenerGuard } from '../../base/process/listener-guard.js'
import { onSocketFile } from '../../base/process/socket-file.js'
import { endSockets, serverOptions, TIMES } from '../../base/process/socket-times.js'
import { READ_METRICS } from './figures/reading.js'

/**
 * Which metrics a question for a status wants; `figures`: those of the status page (figures/reading.js). All of them
 * take a process some milliseconds, and the one that asks as much for each.
 * @typedef {'none' | 'figures' | 'all'} Wanted
 */

/** Header of such a question. A process of an earlier version, which a reload replaces, sends all. */
const WANTED = 'inkcast-metrics'

/**
 * Beyond the timeout of an answer, ms. Timers run before the sockets are read: a process that did not run for a time
 * (on a busy host) first reads the answer that came meanwhile.
 */
const READING = 100

/** @param {Wanted} wanted @returns {readonly string[] | undefined} names; undefined: all */
export const metricsFor = (wanted) => ({ none: [], figures: READ_METRICS, all: undefined })[wanted]

/**
 * The unix socket on which a process of this machine is asked for its status and gets commands. Only this machine's
 * same user can open it: its directory is private. Bytes of clients never come here
 * (src/transport/peers/session-listener.js).
 *
 * @param {object} dependencies
 * @param {string} dependencies.path of the socket
 * @param {ReturnType<typeof import('./status.js').createStatus>} dependencies.status
 * @param {import('../../base/common/log-level-control.js').LogLevelControl} [dependencies.logLevel]
 * @param {ReadonlyMap<string, (req: http.IncomingMessage, res: http.ServerResponse) => void>} [dependencies.routes]
 *   further ones, by path
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/process/socket-times.js').Times} [dependencies.times]
 */
export function createPrivateListener ({ path, status, logLevel, routes, log, clock, times = TIMES }) {
  /** @type {http.RequestListener} */
  const answer = (req, res) => {
    if (req.url === '/loglevel' && logLevel !== undefined) return void answerLevel(req, res, logLevel)
    const route = routes?.get(req.url?.split('?', 1)[0] ?? '')
    if (route !== undefined) return void route(req, res)
    // src/operate/admin/control/hung-processes.js asks
    if (req.url === '/alive')
      return void res.writeHead(200).end(inspector.url() === undefined ? '' : 'inspected')
    if (req.url === '/cordon') return void answerCordon(req, res, status)
    if (req.url !== '/status') return void res.writeHead(404).end()
    status.read(metricsFor(/** @type {Wanted} */ (req.headers[WANTED] ?? 'all'))).then(
      (value) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
      () => res.writeHead(500).end()
    )
  }
  const server = http.createServer(serverOptions(times))
  endSockets(server, times, clock)
  server.on('request', createListenerGuard({ name: 'private', log, clock }).request(answer))

  return onSocketFile(server, path)
}

/**
 * @param {http.IncomingMessage} req GET, or PUT with `{ level }`
 * @param {http.ServerResponse} res
 * @param {import('../../base/common/log-level-control.js').LogLevelControl} logLevel
 */
async function answerLevel (req, res, logLevel) {
  try {
    // checked by the sender, which is a process of inkcast
    if (req.method === 'PUT') logLevel.set(/** @type {any} */ (await json(req)).level)
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ level: logLevel.level }))
  } catch {
    res.writeHead(400).end()
  }
}

/**
 * @param {http.IncomingMessage} req GET, or PUT with `{ cordoned }`
 * @param {http.ServerResponse} res
 * @param {ReturnType<typeof import('./status.js').createStatus>} status
 */
async function answerCordon (req, res, status) {
  try {
    if (req.method === 'PUT') status.cordon(/** @type {any} */ (await json(req)).cordoned === true)
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ cordoned: status.cordoned }))
  } catch {
    res.writeHead(400).end()
  }
}

/**
 * Asks a process on this machine for its status.
 * @param {string} path
 * @param {number} timeout ms
 * @param {Wanted} wanted
 * @returns {Promise<import('./status.js').ProcessStatus>}
 */
export const readStatus = (path, timeout, wanted) =>
  askPrivately(path, '/status', { timeout, headers: { [WANTED]: wanted } })

/**
 * Asks a process on this machine.
 * @param {string} socketPath of its private listener
 * @param {string} path
 * @param {object} options
 * @param {number} options.timeout ms
 * @param {string} [options.method]
 * @param {http.OutgoingHttpHeaders} [options.headers]
 * @param {string | Buffer} [options.body] JSON, or what the route expects
 * @returns {Promise<any>} the JSON of its answer
 */
export function askPrivately (socketPath, path, { timeout, method = 'GET', headers, body }) {
  return new Promise((resolve, reject) => {
    const req = http.request({ socketPath, path, method, headers, timeout, agent: false }, (res) => {
      json(res).then((value) => {
        if (res.statusCode === 200) resolve(value)
        else reject(new Error(`answered ${res.statusCode}`))
      }, reject)
    })
    // the request hears of the first timeout of its socket only
    req.once('timeout', () =>
      req.socket?.setTimeout(READING, () => req.destroy(new Error(`no answer within ${timeout} ms`))))
    req.on('error', reject)
    req.end(body)
  })
}

/** @param {http.IncomingMessage} message */
async function json (message) {
  /** @type {Buffer[]} */
  const chunks = []
  for await (const chunk of message) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}
