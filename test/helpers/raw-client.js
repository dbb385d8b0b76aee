import { once } from 'node:events'
import { connect } from 'node:net'
import WebSocket from 'ws'
import { waitFor } from './wait.js'

/**
 * Clients that write arbitrary bytes: Engine.IO packets without a client library.
 */

const PATH = '/socket.io/?EIO=4'

/**
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {string} url
 * @param {string} [query]
 */
export async function rawWebSocket (t, url, query = '&transport=websocket') {
  const ws = new WebSocket(`${url.replace('http', 'ws')}${PATH}${query}`)
  /** @type {(string | Buffer)[]} messages received, text as strings */
  const received = []
  ws.on('message', (data, isBinary) => received.push(isBinary ? /** @type {Buffer} */ (data) : data.toString()))
  t.after(() => ws.terminate())
  // a disconnected client may get a reset
  const closed = new Promise((resolve) => ws.once('close', resolve))
  await once(ws, 'open', { signal: AbortSignal.timeout(15_000) })
  ws.on('error', () => {})
  return {
    ws,
    received,
    closed,
    get open () { return ws.readyState === WebSocket.OPEN },
    /** @param {...(string | Buffer)} packets */
    send (...packets) { for (const packet of packets) ws.send(packet) },
    /** @param {RegExp} pattern @returns {Promise<string>} the first text that matches, now or later */
    async text (pattern) {
      return /** @type {string} */ (
        await waitFor(() => received.find((data) => typeof data === 'string' && pattern.test(data)), {
          message: () => `${pattern} among ${received.join(' ').slice(0, 1000)}`
        })
      )
    },
    /** @param {object} [auth] @returns {Promise<string>} connection id */
    async connect (auth) {
      ws.send(`40${auth === undefined ? '' : JSON.stringify(auth)}`)
      return JSON.parse((await this.text(/^40\{/)).slice(2)).sid
    }
  }
}

/**
 * Starts a polling session.
 * @param {string} url
 */
export async function rawPolling (url) {
  const begin = await (await fetch(`${url}${PATH}&transport=polling`)).text()
  const sid = /** @type {string} */ (JSON.parse(begin.slice(1)).sid)
  const address = `${url}${PATH}&transport=polling&sid=${sid}`
  return {
    sid,
    address,
    async poll () {
      const answer = await fetch(address)
      return { status: answer.status, text: await answer.text() }
    },
    /** Polls until a response matches. @param {RegExp} pattern @returns {Promise<boolean>} */
    async until (pattern) {
      for (let polls = 0; polls < 10; polls++) if (pattern.test((await this.poll()).text)) return true
      return false
    },
    /** Disconnects from the namespace and polls until the transport is closed. */
    async leave () {
      await this.post('41')
      return this.until(/1$/)
    },
    /** @param {string} body packets, separated by 0x1e */
    async post (body) {
      const answer = await fetch(address, { method: 'POST', body })
      return { status: answer.status, text: await answer.text() }
    },
    /** @param {object} [auth] @returns {Promise<string>} connection id */
    async connect (auth) {
      await this.post(`40${auth === undefined ? '' : JSON.stringify(auth)}`)
      // a busy machine may send a ping before it or with it
      for (let polls = 0; polls < 10; polls++) {
        const answer = (await this.poll()).text.split('\x1e').find((packet) => packet.startsWith('40{'))
        if (answer !== undefined) return JSON.parse(answer.slice(2)).sid
      }
      throw new Error('no response to CONNECT')
    }
  }
}

/**
 * Polls without reading the response.
 * @param {import('node:test').TestContext} t
 * @param {string} address of a polling session
 * @returns {Promise<import('node:net').Socket>} resolves when the response has begun to arrive
 */
export async function stalledPoll (t, address) {
  const { port, pathname, search } = new URL(address)
  const stalled = connect(Number(port), '127.0.0.1').on('error', () => {})
  t.after(() => stalled.destroy())
  stalled.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await once(stalled, 'readable')
  return stalled
}
