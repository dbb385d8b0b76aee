import { InkcastError } from '../../base/common/errors.js'

/**
 * Where the token of a handshake is. A client that can choose puts it into `auth`; others have a header, the query, or
 * a cookie that the browser sends by itself. The first place that has one counts, whether its token is valid or not.
 *
 * @typedef {object} HandshakeRequest the request that opened the session
 * @property {import('http').IncomingHttpHeaders} headers by lower-case name
 * @property {Record<string, unknown>} query
 *
 * @typedef {object} Asked what the application is asked about a client (AUTH_CONNECT_URL)
 * @property {import('http').IncomingHttpHeaders} headers of the request that opened the session
 * @property {string} address of the client; '': not known
 * @property {Record<string, unknown>} auth of the handshake
 *
 * @typedef {{ token: string, from: 'auth' | 'authorization' | 'query' | 'cookie' }} FoundToken
 */

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^bearer +(\S+) *$/i

/**
 * @param {string | null | undefined} token of `auth`
 * @param {HandshakeRequest} request
 * @param {string} [cookie] name of the cookie with a JWT; absent: none is read
 * @returns {FoundToken | undefined}
 * @throws {InkcastError} unauthorized: several cookies have the name
 */
export function findToken (token, { headers, query }, cookie) {
  if (token != null) return { token, from: 'auth' }
  const [, bearer] = BEARER.exec(headers.authorization ?? '') ?? []
  if (bearer !== undefined) return { token: bearer, from: 'authorization' }
  if (typeof query.token === 'string' && query.token !== '') return { token: query.token, from: 'query' }
  const value = cookie === undefined ? undefined : readCookie(headers.cookie, cookie)
  return value === undefined ? undefined : { token: value, from: 'cookie' }
}

/**
 * Reads a cookie (RFC 6265, 4.2.1 and 5.4). Exported for tests: most headers are the same for a token.
 *
 * @param {string | undefined} header
 * @param {string} name
 * @returns {string | undefined} without the quotes that it may have; undefined: there is none, or it is empty
 * @throws {InkcastError} unauthorized: there are several. A page of another subdomain can add one, and their order says
 *   nothing about which one is the application's
 */
export function readCookie (header, name) {
  /** @type {string | undefined} */
  let found
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals === -1 || pair.slice(0, equals).trim() !== name) continue
    if (found !== undefined) throw new InkcastError('unauthorized', `there are several cookies ${name}`)
    found = pair.slice(equals + 1).trim().replace(/^"(.*)"$/, '$1')
  }
  return found || undefined
}

/**
 * Whether the browser says which page the handshake comes from. Browsers send no Origin with a GET of the gateway's own
 * pages (long polling), but Sec-Fetch-Site; pages can set neither.
 * @param {import('http').IncomingHttpHeaders} headers
 */
export const namesPage = ({ origin, 'sec-fetch-site': site }) => origin !== undefined || site === 'same-origin'
