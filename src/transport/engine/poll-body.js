import { Growing } from './bytes/growing-buffer.js'
import { UsualRequest } from './request.js'

/**
 * Reads the body of a POST: its received part is counted, and kept in a buffer, not as a string in the heap.
 * @param {any} session
 * @param {any} transport the session's Polling
 * @param {import('node:http').IncomingMessage | UsualRequest} req
 * @param {any} res
 */
export function readBody (session, transport, req, res) {
  const { inputLimits } = session.server
  if (transport.dataReq || req.headers['content-type'] === 'application/octet-stream') {
    transport.onError(transport.dataReq ? 'data request overlap from client' : 'invalid content')
    res.writeHead(400).end()
    return
  }
  if (Number(req.headers['content-length']) > session.maxBytes) {
    res.writeHead(413).end()
    return
  }
  const answer = () => {
    res.writeHead(200, transport.headers(req, { 'Content-Type': 'text/html', 'Content-Length': '2' })).end('ok')
  }
  if (req instanceof UsualRequest) {
    transport.onData(/** @type {Buffer} */ (req.body).toString())
    return answer()
  }
  transport.dataReq = req
  transport.dataRes = res
  const body = new Growing()

  const done = () => {
    req.off('data', onData).off('end', onEnd).off('close', onClose)
    transport.dataReq = transport.dataRes = null
    inputLimits.holds(session, -body.capacity)
  }
  const onClose = () => {
    done()
    transport.onError('data request connection closed prematurely')
  }
  const onData = (/** @type {Buffer} */ chunk) => {
    if (body.length + chunk.length > session.maxBytes) {
      done()
      // The rest is discarded.
      req.resume()
      res.writeHead(413).end()
      return
    }
    const before = body.capacity
    body.put(chunk, 0, chunk.length, session.maxBytes)
    if (body.capacity > before) inputLimits.holds(session, body.capacity - before)
  }
  const onEnd = () => {
    done()
    transport.onData(body.bytes.toString())
    answer()
  }
  req.on('data', onData).on('end', onEnd).on('close', onClose)
}
