import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { createListenerGuard } from '../../../src/base/process/listener-guard.js'
import { rawHttp } from '../../helpers/raw-http.js'
import { recordingLog } from '../../helpers/recording-log.js'

const fail = () => { throw new Error('in the listener') }
const failLater = async () => {
  await Promise.resolve()
  fail()
}
const GET = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const UPGRADE = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

/** @param {import('node:test').TestContext} t @param {net.Server} server @returns {Promise<string>} its URL */
async function listening (t, server) {
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`
}

for (const [when, listener] of /** @type {const} */ ([['throws', fail], ['rejects', failLater]])) {
  test(`a listener that ${when} is answered for with 500, and its server goes on`, async (t) => {
    const { log, lines } = recordingLog()
    const guard = createListenerGuard({ name: 'test', log, clock: systemClock })
    const server = http.createServer(guard.request(listener)).on('upgrade', guard.upgrade(listener))
    const url = await listening(t, server)
    for (let i = 0; i < 3; i++) {
      assert.match(await rawHttp(url, GET), /^HTTP\/1\.1 500 [^]*connection: close/i)
      assert.match(await rawHttp(url, UPGRADE), /^HTTP\/1\.1 500 [^]*connection: close/i)
    }
    assert.equal(lines.length, 1, 'an attacker fills no log')
    assert.match(lines[0].text, /in the listener.*"listener":"test"/)
  })

  test(`a listener of connections that ${when} closes the connection, and its server goes on`, async (t) => {
    const guard = createListenerGuard({ name: 'test', log: recordingLog().log, clock: systemClock })
    const url = await listening(t, net.createServer(guard.connection(listener)))
    for (let i = 0; i < 3; i++) assert.equal(await rawHttp(url, GET), '')
  })
}

test('an answer that has begun is cut off, so that its reader does not take it for whole', async (t) => {
  const guard = createListenerGuard({ name: 'test', log: recordingLog().log, clock: systemClock })
  const url = await listening(t, http.createServer(guard.request((_req, res) => {
    res.writeHead(200, { 'content-length': 10 }).write('half')
    fail()
  })))
  await assert.rejects(fetch(url).then((answer) => answer.text()))
})

test('a body that is not read to its end, which takes the socket from its request, stops no server', async (t) => {
  const { log } = recordingLog()
  const guard = createListenerGuard({ name: 'test', log, clock: systemClock })
  const url = await listening(t, http.createServer({ keepAliveTimeout: 1 }, guard.request(async (req, res) => {
    for await (const chunk of req) if (chunk.length > 3) break
    assert.equal(req.socket, null)
    res.end('closed')
  })))
  for (let i = 0; i < 3; i++) {
    await rawHttp(url, 'PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nbody')
  }
})
