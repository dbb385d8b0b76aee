/**
 * Requests whose body another reader may take for a request of its own: every method, framed in every form.
 */

export const METHODS = ['GET', 'POST', 'OPTIONS', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'NOTIFY', 'TRACE']

/** Ways in which the bytes leave the client: `apart` sends the body in a packet of its own. */
export const SENDING = /** @type {const} */ (['alone', 'apart', 'followed'])

/** @param {string} body @param {string} [size] @returns {string} */
const chunk = (body, size = body.length.toString(16)) => `${size}\r\n${body}\r\n0\r\n\r\n`
const CHUNKED = 'Transfer-Encoding: chunked'

/**
 * @param {string} body
 * @returns {Record<string, [headers: string[], bytes: string]>} by name
 */
export const framings = (body) => ({
  none: [[], ''],
  'no framing, with bytes': [[], body],
  'length 0': [['Content-Length: 0'], ''],
  'length 0, with bytes': [['Content-Length: 0'], body],
  length: [[`Content-Length: ${body.length}`], body],
  'length with zeros': [[`Content-Length: 000${body.length}`], body],
  'length with a sign': [[`Content-Length: +${body.length}`], body],
  'length in hex': [[`Content-Length: 0x${body.length.toString(16)}`], body],
  'length as a list': [[`Content-Length: ${body.length}, ${body.length}`], body],
  'length twice': [[`Content-Length: ${body.length}`, `Content-Length: ${body.length}`], body],
  'two lengths': [['Content-Length: 0', `Content-Length: ${body.length}`], body],
  'length hidden by Connection': [['Connection: keep-alive, content-length', `Content-Length: ${body.length}`], body],
  'length with Expect': [['Expect: 100-continue', `Content-Length: ${body.length}`], body],
  'length with Upgrade': [['Connection: Upgrade', 'Upgrade: h2c', `Content-Length: ${body.length}`], body],
  chunked: [[CHUNKED], chunk(body)],
  'chunked, empty': [[CHUNKED], '0\r\n\r\n'],
  'chunked, in pieces': [[CHUNKED], `5\r\n${body.slice(0, 5)}\r\n${chunk(body.slice(5))}`],
  'chunked with an extension': [[CHUNKED], chunk(body, `${body.length.toString(16)};a=b`)],
  'chunked with a trailer': [['Trailer: X-A', CHUNKED], chunk(body).replace(/\r\n\r\n$/, '\r\nX-A: 1\r\n\r\n')],
  'chunked, size with zeros': [[CHUNKED], chunk(body, `000${body.length.toString(16)}`)],
  'chunked, size in hex': [[CHUNKED], chunk(body, `0x${body.length.toString(16)}`)],
  'chunked, bare line feeds': [[CHUNKED], chunk(body).replaceAll('\r\n', '\n')],
  'chunked, in capitals': [['TRANSFER-ENCODING: CHUNKED'], chunk(body)],
  'chunked twice': [[CHUNKED, CHUNKED], chunk(body)],
  'chunked hidden by Connection': [['Connection: keep-alive, transfer-encoding', CHUNKED], chunk(body)],
  'chunked with Expect': [['Expect: 100-continue', CHUNKED], chunk(body)],
  'chunked with Upgrade': [['Connection: Upgrade', 'Upgrade: h2c', CHUNKED], chunk(body)],
  'chunked after a tab': [['Transfer-Encoding:\tchunked'], chunk(body)],
  'chunked before a colon': [['Transfer-Encoding : chunked'], chunk(body)],
  'chunked on a folded line': [['Transfer-Encoding:', ' chunked'], chunk(body)],
  'chunked with another letter': [['Transfer-Encoding: xchunked'], chunk(body)],
  'gzip and chunked': [['Transfer-Encoding: gzip, chunked'], chunk(body)],
  'chunked and identity': [['Transfer-Encoding: chunked, identity'], chunk(body)],
  identity: [['Transfer-Encoding: identity'], body],
  'identity and length': [['Transfer-Encoding: identity', `Content-Length: ${body.length}`], body],
  'chunked and length': [[CHUNKED, `Content-Length: ${body.length}`], chunk(body)],
  'length and chunked': [[`Content-Length: ${chunk(body).length}`, CHUNKED], chunk(body)],
  'length 0 and chunked': [['Content-Length: 0', CHUNKED], chunk(body)]
})

/**
 * @param {object} options
 * @param {string} options.target
 * @param {string} options.body the bytes that must never become a request
 * @param {(sending: string) => string} options.next a request that follows in the same packet
 * @param {readonly string[]} [options.methods]
 * @returns {{ name: string, parts: string[] }[]} parts: packets
 */
export function framedRequests ({ target, body, next, methods = METHODS }) {
  return methods.flatMap((method) => Object.entries(framings(body)).flatMap(([framing, [headers, bytes]]) =>
    SENDING.map((sending) => {
      const head = [`${method} ${target} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
      const name = `${method}, ${framing}, ${sending}`
      if (sending === 'apart') return { name, parts: [head, bytes] }
      return { name, parts: [head + bytes + (sending === 'followed' ? next(name) : '')] }
    })
  ))
}
