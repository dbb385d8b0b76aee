import { InkcastError, publicError } from '../../base/common/errors.js'
import { isLoopbackOrigin, isPublicName } from '../../base/process/host-name.js'
import { endSocket, responseOf } from '../../base/process/socket-times.js'
import { listenerOf } from '../engine/link.js'
import { AllowedOrigins } from './allowed-origins.js'

/**
 * Decides which pages may connect. Browsers do not apply the same-origin policy to WebSockets, nor to requests that a
 * page only sends, so the gateway checks each request, of new and of existing sessions.
 * Why: docs/internals/decisions/0090-limits-of-clients.md
 *
 * @typedef {ReturnType<typeof createOrigins>} Origins
 * @typedef {import('http').IncomingHttpHeaders} Headers
 */

/**
 * Refused origins that are logged, each once: enough to find a mistake; attackers can invent any number.
 */
const MAX_LOGGED = 100
/** Characters of an origin in logs and responses. */
const MAX_SHOWN = 200

/**
 * Lets a page of any origin read a response without secrets.
 * @param {string | undefined} origin
 * @returns {Record<string, string>}
 */
export const readableByAnyPage = (origin) =>
  origin === undefined
    ? {}
    : { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' }

/**
 * @param {object} dependencies
 * @param {readonly string[]} dependencies.allowed config.gateway.allowedOrigins. Empty: the page's host must be the
 *   gateway's
 * @param {boolean} [dependencies.development] with no origins set, pages of this machine may connect too
 * @param {boolean} [dependencies.anonymous] clients may connect without a token
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 */
export function createOrigins ({ allowed, development = false, anonymous = false, metrics, log, clock }) {
  const origins = new AllowedOrigins(allowed)
  const checksHost = development && anonymous && allowed.length === 0
  /** @type {Set<string>} */
  const logged = new Set()

  /** @param {Headers} headers @returns {string | null} reason to refuse requests for this host name */
  const hostRefusalOf = ({ host }) =>
    checksHost && isPublicName(host)
      ? `${shown(host)} may be a stranger's name for this machine: add the origin of your page to ALLOWED_ORIGINS`
      : null

  /** @param {Headers} headers @returns {string | null} reason to refuse a page */
  function refusalOf (headers) {
    if (origins.any) return null
    const { origin, host, 'sec-fetch-site': site } = headers
    const hostRefusal = hostRefusalOf(headers)
    if (hostRefusal !== null) return hostRefusal
    if (origin === undefined) {
      // Not a browser, or a same-origin page; <script> and <img> of other sites send no Origin.
      return site === undefined || site === 'same-origin' || site === 'none'
        ? null
        : 'requests from another site without an origin are not answered'
    }
    if (origins.has(origin)) return null
    if (allowed.length === 0 && (isSameHost(origin, host) || (development && isLoopbackOrigin(origin)))) return null
    if (origin === 'null')
      return 'a page without an origin (a file, a sandboxed frame) may not connect: serve it over HTTP, or set ALLOWED_ORIGINS=*'
    return `pages of ${shown(origin)} may not connect: add this origin to ALLOWED_ORIGINS`
  }

  /** @param {string} reason @param {Headers} headers @param {string} listener */
  function report (reason, { origin, host, referer }, listener) {
    metrics.handshakes.inc({ result: 'origin_refused', listener })
    const key = shown(origin ?? host)
    if (logged.has(key) || logged.size >= MAX_LOGGED) return
    logged.add(key)
    log.warn({ origin: key, host: shown(host), ...(referer !== undefined && { referer: shown(referer) }) }, reason)
    if (logged.size === MAX_LOGGED)
      log.warn(
        'further refused origins are not logged; inkcast_handshakes_total{result="origin_refused"} counts them'
      )
  }

  /**
   * @param {string | null} reason
   * @param {Headers} headers
   * @param {import('http').ServerResponse | import('stream').Duplex} to
   * @returns {boolean} whether it was refused
   */
  function answer (reason, headers, to) {
    if (reason === null) return false
    report(reason, headers, listenerOf('writeHead' in to ? to.req?.socket : to))
    const body = JSON.stringify(publicError(new InkcastError('origin_refused', reason)))
    const cors = readableByAnyPage(headers.origin)
    if ('writeHead' in to)
      to.writeHead(403, {
        ...cors,
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(body)
      }).end(body)
    else endSocket(to, responseOf(403, body, cors), clock)
    return true
  }

  return {
    /** @param {Headers} headers @returns {boolean} */
    mayConnect: (headers) => refusalOf(headers) === null,

    /**
     * Refuses a request from a page that may not connect, with a reason that the page can read.
     * @param {{ headers: Headers }} req
     * @param {import('http').ServerResponse | import('stream').Duplex} to a response, or the socket of an upgrade
     * @returns {boolean} false: it may connect; nothing was done
     */
    refuse: ({ headers }, to) => answer(refusalOf(headers), headers, to),

    /**
     * The same for requests outside Socket.IO, which any page may link to: checks the host name only.
     * @param {{ headers: Headers }} req
     * @param {import('http').ServerResponse} to
     * @returns {boolean}
     */
    refuseHost: ({ headers }, to) => answer(hostRefusalOf(headers), headers, to)
  }
}

/** @param {string | undefined} text */
const shown = (text) => String(text).slice(0, MAX_SHOWN)

/** @param {string} origin @param {string | undefined} host */
function isSameHost (origin, host) {
  // In most cases no parser is needed.
  if (origin === `https://${host}` || origin === `http://${host}`) return true
  try {
    return new URL(origin).host === host
  } catch {
    return false
  }
}
