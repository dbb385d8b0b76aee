import assert from 'node:assert/strict'
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { describe, test } from 'node:test'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { createAgent } from '../../../src/operate/admin/agent.js'
import { createPrivateListener } from '../../../src/operate/admin/private-listener.js'
import { AdminServer } from '../../../src/operate/admin/server.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { createHttpServer } from '../../../src/transport/engine/http.js'
import { createClosing } from '../../../src/transport/engine/socket-reader.js'
import { createPeerListener } from '../../../src/transport/peers/peer-listener.js'
import { listen } from '../../../src/base/process/listen.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { timesWithPolls, TIMES } from '../../../src/base/process/socket-times.js'
import { startApi } from '../../helpers/api.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'
import { startCertificate } from '../../helpers/certificates.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {{ port: number, host: string } | { path: string }} Address */

const CERTIFICATE = fileURLToPath(new URL('../../helpers/tls/', import.meta.url))
const TLS = { cert: `${CERTIFICATE}cert.pem`, key: `${CERTIFICATE}key.pem` }
/** Short for the test, and in the same order as the real ones. */
const SHORT = { handshake: 100, headers: 100, request: 200, keepAlive: 300, silence: 400, linger: 50, check: 20 }
const MEGABYTE = 'x'.repeat(2 ** 20)
const HALF_HELLO = Buffer.from('16030102000100', 'hex')

/** @param {string} [url] @param {string} [method] */
const head = (url = '/', method = 'GET') => `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n`

/**
 * A socket that keeps its side open regardless of the server.
 * @param {TestContext} t
 * @param {Address} address
 */
async function open (t, address) {
  const socket = net.connect({ ...address, allowHalfOpen: true })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/**
 * @param {net.Socket} socket
 * @param {string | Buffer} bytes sent repeatedly, also after the server has ended its side
 */
function goOn (socket, bytes) {
  const timer = setInterval(() => { if (!socket.destroyed) socket.write(bytes) }, 20)
  socket.once('close', () => clearInterval(timer))
}

/** Client behavior that a server should not wait for. @type {Record<string, (socket: net.Socket) => void>} */
const UNFINISHED = {
  nothing: (socket) => { socket.resume() },
  'one byte': (socket) => { socket.resume().write('G') },
  'half a head': (socket) => { socket.resume().write(head()) },
  'a header at intervals': (socket) => {
    socket.resume().write(head())
    goOn(socket, 'x-more: y\r\n')
  },
  'half a body': (socket) => {
    socket.resume().write(`${head('/v1/broadcast', 'POST')}Content-Length: 100\r\n\r\nabc`)
  },
  'a byte of a body at intervals': (socket) => {
    socket.resume().write(`${head('/v1/broadcast', 'POST')}Content-Length: 100000\r\n\r\n`)
    goOn(socket, 'x')
  },
  'no HTTP': (socket) => { socket.resume().write('\x16\x03\x01 hello\r\n\r\n') },
  'an unsupported upgrade': (socket) => {
    socket.resume().write(`${head()}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  },
  'an unsupported upgrade, and then more': (socket) => {
    socket.resume().write(`${head()}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
    goOn(socket, 'x')
  },
  'no other request': (socket) => { socket.resume().write(`${head()}\r\n`) },
  'requests with unread responses': (socket) => {
    socket.pause().write(`${head('/large')}\r\n`.repeat(8))
  },
  'requests that end the connection, with unread responses': (socket) => {
    socket.pause().write(`${`${head('/large')}\r\n`.repeat(7)}${head('/large')}Connection: close\r\n\r\n`)
  }
}

/** @type {any} */
const answerLarge = (/** @type {any} */ _req, /** @type {import('node:http').ServerResponse} */ res) =>
  res.end(MEGABYTE)
/**
 * Ignores connections.
 * @type {Pick<import('../../../src/transport/engine/engine.js').Engine,
 *   'clock' | 'closing' | 'takeWebSocket' | 'handleRequest' | 'handleUpgrade'>}
 */
const engine = {
  clock: systemClock,
  closing: createClosing(systemClock),
  takeWebSocket: () => false,
  handleRequest: answerLarge,
  handleUpgrade: (/** @type {any} */ _req, /** @type {net.Socket} */ socket) => socket.destroy()
}
/** Reads the status of many processes. */
const processes = {
  read: async () => ({ processes: [{ id: 'a', name: 'x', notReady: [MEGABYTE], metrics: [] }], reasons: [MEGABYTE] })
}
const { log } = recordingLog()

/** @type {Record<string, (t: TestContext) => Promise<Address>>} */
const LISTENERS = {
  'a gateway': (t) => gateway(t, engine),
  'the api': async (t) => {
    const { api } = await startApi(t, { times: SHORT })
    return { host: '127.0.0.1', port: api.port() }
  },
  'the admin server': async (t) => {
    const server = new AdminServer({
      settings: { host: '127.0.0.1', port: 0 },
      production: true,
      processes,
      log,
      clock: systemClock,
      times: SHORT
    })
    await server.start()
    t.after(() => server.stop())
    return { host: '127.0.0.1', port: server.port() }
  },
  'a private listener': async (t) => {
    const directory = makeDirectory('sockets')
    const file = path.join(directory, 'x.sock')
    const status = /** @type {any} */ ({ read: async () => ({ text: MEGABYTE }) })
    const listener = createPrivateListener({ path: file, status, log, times: SHORT, clock: systemClock })
    await listener.start()
    t.after(async () => {
      await listener.stop()
      removeDirectory(directory)
    })
    return { path: file }
  },
  'the listener for other machines': async (t) => {
    const listener = createPeerListener({
      socketPath: '/socket.io/', address: { host: '127.0.0.1', ports: [0] },
      metrics: createMetrics({ processMetrics: false }),
      log,
      clock: systemClock,
      times: SHORT
    })
    await listener.start()
    t.after(() => listener.stop())
    return { host: '127.0.0.1', port: listener.port() }
  }
}

/**
 * @param {TestContext} t
 * @param {any} engine
 * @param {import('../../../src/config/tls/certificate.js').Certificate} [secure]
 * @param {import('../../../src/base/process/socket-times.js').Times} [times]
 */
async function gateway (t, engine, secure, times = SHORT) {
  const server = createHttpServer({
    engine, socketPath: '/socket.io/', fallback: answerLarge, certificate: secure, isDraining: () => false, times, log
  })
  await listen(server, { host: '127.0.0.1', port: 0 })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { host: '127.0.0.1', port: /** @type {net.AddressInfo} */ (server.address()).port }
}

/**
 * Collects the sockets that a server of this process accepts from now on.
 * @param {TestContext} t
 * @param {Address} own
 * @returns {net.Socket[]}
 */
function accepted (t, own) {
  /** @type {net.Socket[]} */
  const sockets = []
  const add = (/** @type {any} */ { socket }) => {
    const address = socket.server.address()
    if ('path' in own ? address === own.path : address.port === own.port) sockets.push(socket)
  }
  diagnostics.subscribe('net.server.socket', add)
  t.after(() => diagnostics.unsubscribe('net.server.socket', add))
  return sockets
}

/**
 * @param {TestContext} t
 * @param {Address} address
 * @param {Record<string, (socket: net.Socket) => unknown>} kinds
 */
async function allEnd (t, address, kinds) {
  const sockets = accepted(t, address)
  /** @type {Map<string, net.Socket>} sockets of the server by behavior of the client */
  const byKind = new Map()
  for (const [kind, use] of Object.entries(kinds)) {
    const client = await open(t, address)
    byKind.set(kind, await waitFor(() => sockets[byKind.size], { message: 'the server to accept' }))
    await use(client)
  }
  const left = () => [...byKind].filter(([, socket]) => !socket.destroyed).map(([kind]) => kind)
  await waitFor(() => left().length === 0, { timeout: 30_000, message: () => ({ stillThere: left() }) })
}

describe('a client that keeps its side open does not keep a socket open', { concurrency: true }, () => {
  for (const [name, start] of Object.entries(LISTENERS)) {
    test(`of ${name}`, async (t) => allEnd(t, await start(t), UNFINISHED))
  }

  test('of a gateway that speaks TLS', async (t) => {
    const { certificate } = await startCertificate(t, TLS)
    const address = await gateway(t, engine, certificate)
    await allEnd(t, address, {
      nothing: () => {},
      'half a hello': (socket) => { socket.write(HALF_HELLO) },
      'a hello byte by byte': (socket) => {
        socket.write(HALF_HELLO)
        goOn(socket, Buffer.from([1]))
      },
      'no TLS': (socket) => { socket.write(`${head()}\r\n`) }
    })
  })

  test('of a gateway that speaks TLS, after the handshake', async (t) => {
    const { certificate } = await startCertificate(t, TLS)
    const times = { ...SHORT, handshake: TIMES.handshake }
    const address = await gateway(t, engine, certificate, times)
    await allEnd(
      t,
      address,
      Object.fromEntries(
        Object.entries(UNFINISHED).map(([kind, use]) => [
          kind,
          async (/** @type {net.Socket} */ socket) => {
            const secure = tls.connect(
              /** @type {any} */ ({ socket, rejectUnauthorized: false, allowHalfOpen: true })
            )
            secure.on('error', () => {})
            await once(secure, 'secureConnect')
            use(secure)
          }
        ])
      )
    )
  })

  test('of the load agent', async (t) => {
    const agent = createAgent({
      settings: { host: '127.0.0.1', agentPort: 0 },
      capacity: 1,
      processes,
      log,
      clock: systemClock,
      linger: SHORT.linger
    })
    await agent.start()
    t.after(() => agent.stop())
    await allEnd(t, { host: '127.0.0.1', port: agent.port() }, {
      nothing: (socket) => { socket.resume() },
      'reads nothing': (socket) => { socket.pause() },
      'keeps sending': (socket) => { goOn(socket.resume(), 'x') }
    })
  })
})

test('a refused client gets the reason', async (t) => {
  const address = await gateway(t, engine, undefined, TIMES)
  for (const [request, status] of [
    ['nonsense\r\n\r\n', 400],
    [`${head()}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n${MEGABYTE}`, 404]
  ]) {
    const socket = await open(t, address)
    let answer = ''
    socket.setEncoding('latin1').on('data', (chunk) => { answer += chunk })
    socket.write(/** @type {string} */ (request))
    await once(socket, 'end')
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} .*\r\nConnection: close\r\n`, 's'))
  }
})

test('a poll may be silent for as long as the gateway holds it', () => {
  assert.equal(timesWithPolls({ max: 5000, timeout: 5000 }).silence, TIMES.silence)
  assert.ok(timesWithPolls({ max: 600_000, timeout: 60_000 }).silence > 660_000)
})

for (const name of ['the api', 'the admin server']) {
  test(`a connection to ${name} that was opened ahead gets no answer: its browser would take it for that of a request`,
    async (t) => {
      const address = await LISTENERS[/** @type {string} */ (name)](t)
      for (const [bytes, answer] of /** @type {[string, RegExp][]} */ ([
        ['', /^$/], ['G', /^HTTP\/1\.1 400 /], [head(), /^HTTP\/1\.1 400 /], ['no HTTP\r\n\r\n', /^HTTP\/1\.1 400 /]
      ])) {
        const socket = await open(t, address)
        let text = ''
        socket.setEncoding('latin1').on('data', (chunk) => { text += chunk })
        socket.write(bytes)
        await once(socket, 'end')
        assert.match(text, answer, JSON.stringify(bytes))
      }
    })
}
