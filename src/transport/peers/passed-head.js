import { PROOF_HEADER } from './request-proof.js'

/**
 * The head of a request on its way to another worker, and of the answer.
 *
 * @typedef {import('http').IncomingMessage} IncomingMessage
 */

/** Headers of one hop: those of RFC 9110, 7.6.1, and an expectation that is met already. Node's client sets its own. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])
/** Headers that are never taken from a client. */
const OURS = new Set([PROOF_HEADER, 'content-length'])
/** @type {Record<string, string>} */
const NO_BODY = Object.freeze({})

/**
 * @param {Pick<IncomingMessage, 'method' | 'headers'>} req
 * @param {Record<string, string>} ours
 * @returns {{ headers: import('http').OutgoingHttpHeaders, hasBody: boolean }}
 */
export function forwardedHeaders (req, ours) {
  const own = Object.entries(req.headers).filter(([name]) => !HOP_BY_HOP.has(name) && !OURS.has(name))
  const framing = framingOf(req)
  return { headers: { ...Object.fromEntries(own), ...framing, ...ours }, hasBody: framing !== NO_BODY }
}

/**
 * The header that frames the body of a request on its way. Without one, Node's client would write the body of a GET as
 * it is, and the owner would read it as the next request.
 * @param {Pick<IncomingMessage, 'method' | 'headers'>} req
 * @returns {Record<string, string>}
 */
function framingOf ({ method, headers }) {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' }
  const length = headers['content-length']
  if (length !== undefined && Number(length) > 0) return { 'content-length': length }
  return method === 'POST' ? { 'content-length': '0' } : NO_BODY
}

/** @param {string[]} rawHeaders names and values in turn @returns {string[]} */
export function withoutHopByHop (rawHeaders) {
  return rawHeaders.filter((_, i) => !HOP_BY_HOP.has(rawHeaders[i - i % 2].toLowerCase()))
}

/**
 * The request's head, unchanged except for inkcast's own headers, which replace a client's of the same names.
 * @param {IncomingMessage} req
 * @param {Record<string, string>} ours
 */
export function requestHead (req, ours) {
  const lines = [`${req.method} ${req.url} HTTP/1.1`]
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    if (req.rawHeaders[i].toLowerCase() !== PROOF_HEADER) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`)
  }
  for (const [name, value] of Object.entries(ours)) lines.push(`${name}: ${value}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
