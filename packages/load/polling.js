/**
 * Long polling of Engine.IO: one open GET at a time, and a POST for each turn with something to send.
 */
import http from 'node:http'
import https from 'node:https'

/**
 * @typedef {import('./websocket.js').Target} Target
 * @typedef {import('./websocket.js').Listeners} Listeners
 */

const SEPARATOR = '\x1e'
const agents = {
  http: new http.Agent({ keepAlive: true }),
  https: new https.Agent({ keepAlive: true })
}

/**
 * @param {Target} target
 * @param {string | undefined} source local address
 * @param {Listeners} listeners
 * @returns {import('./websocket.js').Transport}
 */
export function openPolling ({ host, port, secure, insecure, path = '/socket.io/' }, source, { onMessage, onEnd }) {
  let sid = ''
  let closed = false
  let posting = false
  /** @type {string[]} */
  let queue = []
  /** @type {Set<http.ClientRequest>} */
  const open = new Set()

  /** @param {string} reason */
  function end (reason) {
    if (closed) return
    shut()
    onEnd(reason)
  }

  function shut () {
    closed = true
    queue = []
    for (const request of open) request.destroy()
  }

  /** @param {'GET' | 'POST'} method @param {string | undefined} body @param {(text: string) => void} onText */
  function request (method, body, onText) {
    const options = {
      host,
      port,
      method,
      localAddress: source,
      path: `${path}?EIO=4&transport=polling${sid === '' ? '' : `&sid=${sid}`}`,
      headers: body === undefined ? {} : { 'content-type': 'text/plain;charset=UTF-8' }
    }
    const made = secure
      ? https.request({ ...options, agent: agents.https, rejectUnauthorized: !insecure })
      : http.request({ ...options, agent: agents.http })
    open.add(made)
    made.on('close', () => open.delete(made))
    made.on('error', (error) => end(/** @type {NodeJS.ErrnoException} */ (error).code ?? error.message))
    made.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => { text += chunk })
      response.on('end', () => {
        if (response.statusCode === 200) onText(text)
        else end(`HTTP ${response.statusCode}`)
      })
    })
    made.end(body)
  }

  function poll () {
    request('GET', undefined, (text) => {
      for (const packet of text.split(SEPARATOR)) {
        if (closed) return
        if (packet[0] === '0') sid = JSON.parse(packet.slice(1)).sid
        if (packet === '1') return end('closed by the server')
        if (packet[0] === 'b') onMessage(Buffer.from(packet.slice(1), 'base64'), true)
        else onMessage(Buffer.from(packet), false)
      }
      if (!closed) poll()
    })
  }

  function post () {
    posting = true
    const isLast = closed
    const body = queue.join(SEPARATOR)
    queue = []
    request('POST', body, () => {
      posting = false
      if (isLast) shut()
      else if (queue.length > 0) post()
    })
  }

  poll()
  return {
    send (content) {
      queue.push(typeof content === 'string' ? content : `b${content.toString('base64')}`)
      if (!posting) queueMicrotask(() => { if (!posting && !closed && queue.length > 0) post() })
    },
    close () {
      // the server would wait for the next poll until its timeout
      if (closed || sid === '') return shut()
      queue.push('1')
      closed = true
      // two at a time are an error to the server
      if (!posting) post()
      setTimeout(shut, 2000).unref()
    }
  }
}
