import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { after, describe, test } from 'node:test'
import tls from 'node:tls'
import WebSocket from 'ws'
import { createServers } from '../../../src/gateway/listener-servers.js'
import { listenerOf } from '../../../src/config/listeners.js'
import { listenerOf as nameOf } from '../../../src/transport/engine/link.js'
import { makeAuthority, startCertificate } from '../../helpers/certificates.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { plainClient } from '../../helpers/plain-client.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const authority = makeAuthority({ after })
const { cert, key } = authority.issue('gateway')
const SHARED = 'ws:/devices'
const OWN = 'ws://127.0.0.1:0/websocket/handshake'
const SECURE = 'wss://127.0.0.1:0/websocket/handshake?tier=devices'
const SOCKETIO = 'socketio://127.0.0.1:0'

describe('listeners', () => {
  test('clients of every listener have the same documents, and metrics tell them apart', async (t) => {
    const inkcast = await startEmbedded(t, {
      LISTENERS: [SHARED, OWN, SECURE, SOCKETIO].join(), NETWORK: 'internet,devices:7000:7000:7000', TLS_FILES: `cert:${cert},key:${key}`
    })
    const urlOf = (/** @type {string} */ name, scheme = 'http') => `${scheme}://127.0.0.1:${inkcast.gateway.port(name)}`
    const guid = randomUUID()
    const options = { rejectUnauthorized: false }
    const socketio = await connectClient(t, urlOf(SOCKETIO))
    const main = await connectClient(t, inkcast.url.replace('http', 'https'), { ca: readFileSync(authority.ca) })
    const own = await plainClient(t, urlOf(OWN))
    const secure = await plainClient(t, urlOf(SECURE, 'https'), { options })
    const shared = await plainClient(t, inkcast.url.replace('http', 'https'), { path: '/devices', options })
    const plain = [own, secure, shared]
    const got = [socketio, main].map((client) => client.next('message'))
    for (const client of [socketio, main, ...plain]) assert.equal((await client.ask('doc:join', { guid })).ok, true)
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 'for all')
    assert.deepEqual((await Promise.all(got)).map(([payload]) => payload), ['for all', 'for all'])
    for (const client of plain) assert.equal((await client.event('message')).payload, 'for all')

    assert.deepEqual(inkcast.gateway.connectionsByListener(), {
      socketio: { websocket: 1, polling: 0 },
      [SHARED]: { websocket: 1 },
      [OWN]: { websocket: 1 },
      [SECURE]: { websocket: 1 },
      [SOCKETIO]: { websocket: 1, polling: 0 }
    })
    const { tierOf } = inkcast.gateway.heartbeat
    assert.deepEqual(
      [...inkcast.gateway.directory.all()].filter(({ conn }) => tierOf(conn) === 'devices').map(({ listener }) => listener),
      [SECURE]
    )
    const figures = await inkcast.metrics.collect()
    const valuesOf = (/** @type {string} */ name) => Object.fromEntries(
      /** @type {any} */ (figures.find((one) => one.name === name)).values
        .filter((/** @type {any} */ { labels, value }) => value > 0 && (labels.result ?? 'ok') === 'ok')
        .map((/** @type {any} */ { labels, value }) => [labels.listener, value])
    )
    const each = { socketio: 1, [SHARED]: 1, [OWN]: 1, [SECURE]: 1, [SOCKETIO]: 1 }
    assert.deepEqual(valuesOf('inkcast_connections'), each)
    assert.deepEqual(valuesOf('inkcast_handshakes_total'), each)

    const drained = [socketio, main].map((client) => client.next('gateway:draining'))
    const stopped = inkcast.stop()
    await Promise.all(drained)
    for (const client of plain) {
      assert.ok((await client.event('gateway:draining')).payload.reconnectInMs >= 0)
      await client.closed
    }
    await stopped
  })

  test('a listener serves its own protocol and path, and /health', async (t) => {
    const inkcast = await startEmbedded(t, { LISTENERS: [SHARED, OWN, SOCKETIO].join() })
    const statusOf = async (/** @type {string | undefined} */ name, /** @type {string} */ path) => {
      const port = inkcast.gateway.port(name)
      const { status } = await fetch(`http://127.0.0.1:${port}${path}`)
      const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`)
      ws.on('error', () => {})
      const outcome = await new Promise((resolve) => {
        ws.once('open', () => resolve(101)).once('unexpected-response', (_, { statusCode }) => resolve(statusCode))
      })
      ws.terminate()
      return [status, outcome]
    }
    const socketio = '/socket.io/?EIO=4&transport=websocket'
    assert.deepEqual(await statusOf(OWN, '/websocket/handshake'), [404, 101])
    assert.deepEqual(await statusOf(OWN, socketio), [404, 404])
    assert.deepEqual(await statusOf(OWN, '/devices'), [404, 404])
    assert.deepEqual((await statusOf(SOCKETIO, socketio))[1], 101)
    assert.deepEqual((await statusOf(SOCKETIO, '/devices'))[1], 404)
    assert.deepEqual((await statusOf(undefined, '/websocket/handshake'))[1], 404)
    for (const name of [OWN, SOCKETIO]) assert.equal((await statusOf(name, '/health'))[0], 200)
  })

  test('a refused handshake counts for its listener', async (t) => {
    const inkcast = await startEmbedded(t, { LISTENERS: [SHARED, OWN].join(), MAX_CONNECTIONS: '1' })
    const url = `http://127.0.0.1:${inkcast.gateway.port(OWN)}`
    await plainClient(t, url)
    await assert.rejects(plainClient(t, url), /503/)
    await assert.rejects(plainClient(t, inkcast.url, { path: '/devices' }), /503/)
    await assert.rejects(plainClient(t, url, { headers: { origin: 'http://elsewhere.example.com' } }), /403/)
    const text = await inkcast.metrics.registry.metrics()
    for (const [result, listener] of [['refused', OWN], ['refused', SHARED], ['origin_refused', OWN]]) {
      assert.match(text, new RegExp(`inkcast_handshakes_total\\{result="${result}",listener="${listener}".*\\} 1$`, 'm'))
    }
  })

  test('a door of a protocol over TCP gets each connection at its port, after the handshake of TLS', async (t) => {
    const { gateway } = await startEmbedded(t)
    const certificate = await startCertificate(t, { cert, key })
    /** @type {{ name: string, text: string, encrypted: boolean }[]} */
    const accepted = []
    const listeners = ['mqtt://127.0.0.1:0', 'mqtts://127.0.0.1:0'].map(listenerOf)
    const doors = listeners.map((listener) => ({
      listener,
      accept (/** @type {any} */ socket) {
        if (listener.tls && accepted.length > 1) throw new Error('a mistake of the door')
        socket.once('data', (/** @type {Buffer} */ chunk) => {
          accepted.push({ name: nameOf(socket), text: chunk.toString(), encrypted: socket.encrypted === true })
          socket.end(chunk)
        })
      }
    }))
    const { log, lines } = recordingLog()
    const services = { log, clock: gateway.engine.clock }
    const { all: [, ...own] } = createServers(/** @type {any} */ (services), /** @type {any} */ ({
      config: { gateway: { listeners }, heartbeat: { network: { max: 1, timeout: 1 } } },
      engine: gateway.engine, doors, certificate: certificate.certificate
    }))
    for (const { server } of own) {
      t.after(() => server.close())
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    }
    const [plain, secure] = own.map(({ server }) => /** @type {net.AddressInfo} */ (server.address()).port)
    const open = (/** @type {net.Socket} */ socket) => {
      t.after(() => socket.destroy())
      return socket
    }
    const secured = () => open(tls.connect({ port: secure, host: '127.0.0.1', rejectUnauthorized: false }))
    for (const socket of [open(net.connect(plain, '127.0.0.1')), secured()]) {
      socket.write('hello')
      const [chunk] = await once(socket, 'data')
      assert.equal(chunk.toString(), 'hello')
    }
    assert.deepEqual(accepted, [
      { name: 'mqtt://127.0.0.1:0', text: 'hello', encrypted: false },
      { name: 'mqtts://127.0.0.1:0', text: 'hello', encrypted: true }
    ])
    // an exception ends this connection only
    const lost = secured()
    lost.on('error', () => {})
    await once(lost, 'close')
    await waitFor(() => lines.some(({ text }) => text.includes('mqtts://127.0.0.1:0')), { message: () => JSON.stringify(lines) })
  })
})
