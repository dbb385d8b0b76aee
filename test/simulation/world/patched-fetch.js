import http from 'node:http'
import { Readable } from 'node:stream'
import { currentWorld } from './now.js'

/**
 * While a world runs, `fetch` is one over node:http, with the parts of it that inkcast uses. Node's own has sockets
 * of its own.
 */

const real = globalThis.fetch
// Node loads them, and compiles a parser with them, when they are first used: before a world begins
void new Headers()

/** @param {string} url @param {any} options @returns {Promise<any>} */
const ownFetch = (url, { method = 'GET', headers = {}, body, signal }) => new Promise((resolve, reject) => {
  if (signal?.aborted) return reject(signal.reason)
  const request = http.request(url, { method, headers, agent: false }, (answer) => {
    const { statusCode: status = 0 } = answer
    const stream = Object.assign(Readable.from(answer), { cancel: async () => { answer.destroy() } })
    resolve({
      status, ok: status >= 200 && status < 300,
      headers: new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
      body: stream
    })
  })
  const abort = () => {
    request.destroy()
    reject(signal.reason)
  }
  signal?.addEventListener('abort', abort, { once: true })
  request.on('close', () => signal?.removeEventListener('abort', abort))
  request.on('error', (cause) => reject(Object.assign(new TypeError('fetch failed'), { cause })))
  request.end(body)
})

globalThis.fetch = /** @type {typeof fetch} */ ((url, options) =>
  currentWorld() === undefined ? real(url, options) : ownFetch(String(url), options ?? {}))
