import assert from 'node:assert/strict'
import http from 'node:http'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { connect } from '../../../client/index.js'
import { openPolling } from '../../../packages/load/polling.js'
import { openWebSocket } from '../../../packages/load/websocket.js'
import { readSettings } from '../../../src/config/load.js'
import { checkSettings } from '../../../src/operate/cli/check/settings.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'

const PATH = '/live/realtime/'
const { url, gateway, post } = await startEmbedded({ after }, { SOCKET_PATH: 'live/realtime' })

test('stock clients and inkcast-client connect at the path of SOCKET_PATH, with each transport, and get records', async (t) => {
  const options = [
    { path: PATH, transports: ['websocket'] },
    { path: PATH, transports: ['polling'] },
    { path: PATH, transports: ['polling', 'websocket'] },
    { path: PATH.slice(0, -1), transports: ['websocket'], addTrailingSlash: false },
    { path: PATH.slice(0, -1), transports: ['polling'], addTrailingSlash: false }
  ]
  const clients = await Promise.all(options.map((one) => connectClient(t, url, one)))
  const own = connect(url, { socket: { path: PATH } })
  t.after(() => own.close())
  const doc = await own.open('plan')
  const got = new Promise((resolve) => doc.on('message', resolve))
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'plan' })).ok, true)
  const changes = clients.map((client) => client.next('message'))
  assert.equal((await post('/v1/documents/plan/broadcast', { n: 1 })).status, 202)
  await Promise.all([got, ...changes])
  assert.equal(gateway.io.path(), '/live/realtime')
})

test('the clients of the load tool and of the demo\'s crowd connect there, and inkcast check names the path', async () => {
  const { hostname: host, port } = new URL(url)
  for (const open of [openWebSocket, openPolling]) {
    await new Promise((resolve, reject) => {
      const transport = open({ host, port: Number(port), secure: false, insecure: false, path: PATH }, undefined, {
        onEnd: (reason) => reject(new Error(reason)),
        onMessage: (content) => { transport.close(); resolve(content) }
      })
    })
  }
  const settings = await (await fetch(`${url}/settings.json`)).json()
  assert.equal(settings.socketPath, PATH)
  const texts = checkSettings(readSettings({ env: { SOCKET_PATH: PATH } })).map(({ text }) => text)
  assert.match(texts.join(), /clients and proxies use the path \/live\/realtime\//)
})

test('other paths are not Socket.IO, also those that begin like it', async () => {
  for (const path of [
    '/socket.io/', '/live/', '/live/realtimes/', '/live/realtime2', '/Live/Realtime/', '//live/realtime/', '/live//realtime/'
  ]) {
    assert.equal(await statusOf(`${path}?EIO=4&transport=polling`), 404, path)
    assert.equal(await upgradeOf(`${path}?EIO=4&transport=websocket`), 404, path)
  }
  for (const path of [PATH, PATH.slice(0, -1)]) {
    assert.equal(await statusOf(`${path}?EIO=4&transport=polling`), 200, path)
    assert.equal(await upgradeOf(`${path}?EIO=4&transport=websocket`), 101, path)
  }
  assert.equal(await statusOf('/health'), 200)
})

/** The path as it is: fetch would change some. @param {string} path @returns {Promise<number | undefined>} */
const statusOf = (path) => new Promise((resolve, reject) => {
  const { hostname: host, port } = new URL(url)
  http.get({ host, port, path, agent: false }, (answer) => resolve(answer.resume().statusCode)).on('error', reject)
})

/** @param {string} path @returns {Promise<number | undefined>} */
const upgradeOf = (path) => new Promise((resolve) => {
  const ws = new WebSocket(url.replace('http', 'ws') + path)
  ws.on('open', () => { ws.terminate(); resolve(101) })
  ws.on('unexpected-response', (request, { statusCode }) => { request.destroy(); resolve(statusCode) })
  ws.on('error', () => {})
})
