/**
 * Attacks on the api: by a caller with a token, or by anybody.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { hold, keepBusy } from './wire.js'

/** @typedef {import('./anonymous.js').Attack} Attack */

const MB = 2 ** 20

/** @param {string} method @param {string} path @param {string[]} [headers] */
const request = (method, path, headers = []) =>
  [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, '', ''].join('\r\n')

/** @param {string} token */
const bearer = (token) => `Authorization: Bearer ${token}`

/**
 * Fills the document `read` with 8 MB.
 * @param {import('./wire.js').Target} target
 */
async function fillHistory ({ apiPort, apiToken }) {
  for (let i = 0; i < 20; i++) {
    const answer = await fetch(`http://127.0.0.1:${apiPort}/v1/documents/read/broadcast`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' },
      body: JSON.stringify('x'.repeat(400_000))
    })
    if (!answer.ok) throw new Error(`the document is not filled: ${answer.status} ${await answer.text()}`)
  }
}

/** @type {Record<string, Attack>} */
export const CALLERS = {
  'openapi.json, pipelined and not read': (target) => hold(target, 200, async (line) => {
    line.socket.pause()
    await line.write(request('GET', '/openapi.json').repeat(200))
  }, { port: target.apiPort }),

  'histories of 8 MB that are not read': async (target) => {
    await fillHistory(target)
    return keepBusy({ ...target, port: target.apiPort }, 100, async (line, until) => {
      line.socket.pause()
      await line.write(request('GET', '/v1/documents/read/history', [bearer(target.apiToken)]))
      while (!line.ended && performance.now() < until) await delay(100)
    })
  },

  'batches of 4 MB that are refused': (target) => {
    const body = `{"publications":[${'{},'.repeat(4 * MB / 3 - 100)}{}]}`
    const head = request('POST', '/v1/publish', [
      bearer(target.apiToken), 'Content-Type: application/json', `Content-Length: ${body.length}`
    ])
    return keepBusy({ ...target, port: target.apiPort }, 4, async (line, until) => {
      while (!line.ended && performance.now() < until) {
        await line.write(head + body)
        await delay(25)
      }
    })
  }
}
