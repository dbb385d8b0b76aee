import { Growing } from './bytes/growing-buffer.js'
import { UsualRequest } from './request.js'

/** Property of Engine.IO's transport: its session. */
const kSession = Symbol('session')

/**
 * Engine.IO's timeout for one more poll before it ends a session, ms: for admitted clients, and for others, which have
 * nothing to receive.
 */
const [CLOSE_TIMEOUT, EARLY_CLOSE_TIMEOUT] = [30_000, 1000]

/**
 * Limits the bodies and the closing time of a polling client that is not admitted.
 * @param {any} session Engine.IO's socket, on polling, new
 */
export function boundPolling (session) {
  const { transport } = session
  transport[kSession] = session
  transport.maxHttpBufferSize = session.maxBytes
  transport.closeTimeout = EARLY_CLOSE_TIMEOUT
  transport.onDataRequest = onDataRequest
}

/** Lifts the limits of a client that is admitted. @param {any} session on any transport */
export function admitPolling ({ transport, maxBytes }) {
  if (transport.name !== 'polling') return
  transport.maxHttpBufferSize = maxBytes
  transport.closeTimeout = CLOSE_TIMEOUT
}

/**
 * Replaces Polling#onDataRequest.
 * @this {any} Engine.IO's transport
 * @param {import('node:http').IncomingMessage | UsualRequest} req
 * @param {any} res
 */
function onDataRequest (req, res) { readBody(this[kSession], this, req, res) }

/**
 * Reads the body of a POST: its received part is counted, and kept in a buffer, not as a string in the heap.
 * @param {any} session Engine.IO's socket, or an EngineSocket
 * @param {any} transport Engine.IO's, or the session's Polling
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
