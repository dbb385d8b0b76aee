import assert from 'node:assert/strict'
import { once } from 'node:events'
import https from 'node:https'
import { connect } from 'node:net'
import { test } from 'node:test'
import { io } from 'socket.io-client'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { rawPolling } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const scope = fileScope()
const { url, gateway } = await startEmbedded(scope)
const secure = await startEmbedded(scope, {
  TLS_FILES: ['cert', 'key'].map((name) => `${name}:${new URL(`../../helpers/tls/${name}.pem`, import.meta.url).pathname}`).join()
})

/** @type {Record<string, string[]>} */
const UPGRADES = {
  h2c: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
  'h2c, named last': ['Connection: keep-alive, upgrade', 'Upgrade: h2c'],
  'h2c in two headers': ['Connection: keep-alive', 'Connection: Upgrade', 'Upgrade: h2c'],
  TLS: ['Connection: Upgrade', 'Upgrade: TLS/1.0'],
  'several protocols': ['Connection: Upgrade', 'Upgrade: websocket, h2c'],
  nothing: ['Connection: Upgrade', 'Upgrade:'],
  'a protocol that does not exist': ['connection:upgrade', 'upgrade:x/1']
}

/**
 * Sends requests in one packet.
 * @param {...string} requests
 * @returns {Promise<string>} the answers
 */
async function ask (...requests) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  socket.setTimeout(10_000, () => socket.destroy(new Error('no end')))
  socket.write(requests.join(''))
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
/** @param {string} line @param {string[]} headers @param {string} [body] */
const request = (line, headers, body = '') => [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')
const LAST = request('GET /health?last', ['Connection: close'])

for (const [name, headers] of Object.entries(UPGRADES)) {
  test(`a request to upgrade to ${name} is answered as if it had not asked`, async () => {
    const { address } = await rawPolling(url)
    const path = address.slice(url.length)
    let last = ''
    for (const [line, body, expected] of [
      ['GET /health', '', '\r\n\r\nok\n'], ['GET /', '', '<!doctype html>'], ['GET /nothing', '', 'not found'],
      [`POST ${path}`, '40', '\r\n\r\nok'], [`GET ${path}`, '', '40{"sid"'],
      ['GET /socket.io/?EIO=4&transport=polling', '', '0{"sid"']
    ]) {
      const framing = body === '' ? [] : [`Content-Length: ${body.length}`]
      const text = await ask(request(line, [...headers, ...framing], body), LAST)
      assert.ok(text.includes(expected), `${line}: ${text}`)
      assert.equal(text.match(/HTTP\/1\.1 \d/g)?.length, 2, `the next request of ${line} is answered: ${text}`)
      assert.ok(text.endsWith('\r\n\r\nok\n'), text)
      last = text
    }
    const [, begun] = /0\{"sid":"([^"]+)"/.exec(last) ?? []
    assert.ok(gateway.engine.sessionOf(begun), last)
  })
}

test('a request over TLS to upgrade is answered as well', async () => {
  const [answer] = await once(https.get(`${secure.url.replace('http', 'https')}/health`, {
    rejectUnauthorized: false, agent: false, headers: { connection: 'Upgrade', upgrade: 'h2c' }
  }), 'response')
  answer.resume()
  assert.equal(answer.statusCode, 200)
})

test('a client that does not wait for its poll and asks to upgrade is disconnected', async () => {
  const { address, post, poll } = await rawPolling(url)
  await post('40')
  await poll()
  assert.equal(await ask(request(`GET ${address.slice(url.length)}`, []), request('GET /health', UPGRADES.h2c)), '')
})

for (const path of ['/socket.io', '/socket.io/']) {
  test(`a session begins, polls and upgrades at ${path}`, async (t) => {
    for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
      const client = io(url, { path, addTrailingSlash: path.endsWith('/'), transports, forceNew: true, reconnection: false })
      t.after(() => client.close())
      await new Promise((resolve, reject) => {
        client.once('connect', () => resolve(undefined))
        client.once('connect_error', reject)
      })
      await waitFor(() => client.io.engine.transport.name === transports.at(-1), { message: transports.join() })
      assert.equal((await client.emitWithAck('doc:join', { guid: 'slash' })).ok, true)
    }
  })
}

test('only that path is Socket.IO\'s', async () => {
  for (const path of ['/socket.iox', '/socket.io-client', '/socket.i'])
    assert.equal((await fetch(`${url}${path}?EIO=4&transport=polling`)).status, 404, path)
})
