import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { startExtended } from '../../helpers/test-extension.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * Every limit that counts sessions, looked at itself: over each way in which a session begins and ends, with each kind
 * of session that the engine has. All optional limits are on.
 */

/** For answers to pings, ms. */
const TIMEOUT = 60_000

const LIMITS = {
  AUTH_JWT_SECRET: SECRET,
  TRUSTED_PROXIES: '127.0.0.0/8',
  MAX_CONNECTIONS: '500',
  MAX_CONNECTIONS_PER_ADDRESS: '20',
  MAX_CONNECTIONS_PER_USER: '10',
  MAX_EVENTS_PER_SECOND: '100,doc:join=50,doc:signal=50,doc:history=50,doc:members=50',
  // all clients share this process with the gateway: a busy machine takes seconds to answer for all of them, so the
  // time after which a silent client is given up passes on the clock of the heartbeat only
  NETWORK: `1000:1000:${TIMEOUT}`
}

/** Kinds of sessions, and a server that has them. @type {Record<string, () => ReturnType<typeof startEmbedded>>} */
const KINDS = {
  sessions: () => startEmbedded({ after }, LIMITS),
  'sessions with compression': () => startEmbedded({ after }, { ...LIMITS, COMPRESS_FROM: '1024' }),
  'sessions that an extension listens to': () => startExtended({ after }, ({ io }) => {
    io.engine.prependListener('connection', (/** @type {any} */ conn) => {
      conn.once('close', () => { heard++ })
    })
    io.on('connect', ({ conn }) => { conn.on('close', () => { heard++ }) })
  }, LIMITS)
}
let heard = 0

/** @typedef {Awaited<ReturnType<typeof startEmbedded>>} Server */
/** @typedef {{ server: Server, client: any, conn: any, uid: string, address: string }} Session */

/**
 * @typedef {object} Beginning
 * @property {string[]} transports
 * @property {(conn: any) => boolean} [ready]
 * @property {(session: Session) => Promise<void>} [before]
 */

/** @type {Record<string, Beginning>} */
const BEGINNINGS = {
  WebSocket: { transports: ['websocket'] },
  polling: { transports: ['polling'] },
  'polling, then WebSocket': {
    transports: ['polling', 'websocket'],
    ready: (conn) => conn.transport.name === 'websocket'
  },
  'polling, after an upgrade that failed': { transports: ['polling'], before: failUpgrades }
}

/** Ends that the gateway notices at once. @type {Record<string, (session: Session) => unknown>} */
const ENDS = {
  'the client disconnects': ({ client }) => client.disconnect(),
  'the client closes its engine': ({ client }) => client.io.engine.close(),
  'the gateway disconnects the socket': ({ client, server }) =>
    server.gateway.io.sockets.sockets.get(client.id)?.disconnect(true),
  'the gateway closes the session': ({ conn }) => conn.close(),
  'the gateway closes the session at once': ({ conn }) => conn.close(true),
  'the gateway terminates the session': ({ conn }) => conn.terminate('ping timeout'),
  'the transport fails': ({ conn }) => conn.transport.onError('broken'),
  'the user is kicked': async ({ server, uid }) => {
    const answer = await fetch(`${server.apiUrl}/v1/users/${uid}/connections`, { method: 'DELETE' })
    assert.equal(answer.status, 202)
  }
}

/** Ends that the gateway may notice by its heartbeat only. @type {typeof ENDS} */
const SILENT_ENDS = {
  'the socket is killed, or the client falls silent': ({ client, conn }) => {
    const { transport } = client.io.engine
    if (conn.transport.name === 'websocket') return transport.ws._socket.destroy()
    // no further poll
    transport._poll = transport.doPoll = transport.poll = () => {}
    transport.pollXhr?.abort?.()
    transport.doWrite = () => {}
  },
  'the client does not answer pings': ({ client }) => {
    const { engine } = client.io
    engine.transport.removeAllListeners('packet')
  }
}

/** Upgrades that end before the probe, with it, and before their response. @param {Session} session */
async function failUpgrades ({ server, conn }) {
  const { port } = new URL(server.url)
  const path = `/socket.io/?EIO=4&transport=websocket&sid=${conn.id}`
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`
  for (const rest of ['Sec-WebSocket-Key: short\r\n\r\n', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n']) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    socket.write(head + rest)
    await once(socket, 'data')
    socket.destroy()
    await once(socket, 'close')
  }
  await waitFor(() => !conn.upgrading && conn.transport.name === 'polling', { message: 'the end of the upgrades' })
}

/** @param {Server} server @returns {Promise<Record<string, number>>} every gauge that sessions raise */
async function gauges ({ metrics }) {
  await metrics.collect()
  const sum = async (/** @type {any} */ gauge) =>
    (await gauge.get()).values.reduce((/** @type {number} */ all, /** @type {any} */ { value }) => all + value, 0)
  return {
    connections: await sum(metrics.connections),
    early: await sum(metrics.sessions_not_admitted),
    unfinished: await sum(metrics.unfinished_bytes),
    handshakes: await sum(metrics.handshakes_waiting)
  }
}

describe('every limit that counts sessions counts', () => {
  for (const [kind, start] of Object.entries(KINDS)) {
    test(kind, { concurrency: true }, async (t) => {
      const server = await start()
      const { gateway } = server
      let number = 0
      /** The counters of a user and an address. @param {string} uid @param {string} address */
      const counted = (uid, address) => ({
        address: gateway.connectionLimits.count(address),
        user: gateway.users.count(uid)
      })
      /** @param {string} uid @param {string} address @param {string} [name] */
      const nothingCounts = (uid, address, name = '') => waitFor(
        () => Object.values(counted(uid, address)).every((count) => count === 0),
        { message: () => `no session of ${uid}: ${name} ${JSON.stringify(counted(uid, address))}` }
      )

      /** @param {import('node:test').TestContext} t @param {Beginning} beginning */
      async function begin (t, { transports, ready = () => true, before }) {
        const [uid, address] = [`user-${++number}`, `1.2.3.${number}`]
        const client = await connectClient(t, server.url, {
          transports, auth: { token: await signToken({ sub: uid }) }, extraHeaders: { 'X-Forwarded-For': address }
        })
        const socket = gateway.io.sockets.sockets.get(/** @type {string} */ (client.id))
        const conn = /** @type {any} */ (socket).conn
        await waitFor(() => ready(conn), { message: 'the upgrade' })
        const session = { server, client, conn, uid, address }
        await before?.(session)
        assert.deepEqual(counted(uid, address), { address: 1, user: 1 })
        return session
      }

      await Promise.all(Object.entries(BEGINNINGS).map(([name, beginning]) =>
        t.test(`that begin with ${name} count until they end, however they do`, async (t) => {
          await Promise.all(Object.entries(ENDS).map(async ([name, end]) => {
            const session = await begin(t, beginning)
            await end(session)
            await nothingCounts(session.uid, session.address, name)
            session.client.disconnect()
          }))
        })
      ))

      await t.test('count until they are found silent, however they began', async (t) => {
        const cases = Object.values(BEGINNINGS).flatMap((beginning) =>
          Object.entries(SILENT_ENDS).map(([name, end]) => ({ beginning, name, end })))
        const sessions = await Promise.all(cases.map(({ beginning }) => begin(t, beginning)))
        await Promise.all(cases.map(({ end }, i) => end(sessions[i])))
        let leap = 0
        gateway.heartbeat.clock = { ...systemClock, monotonic: () => systemClock.monotonic() + leap }
        await waitFor(() => {
          leap += TIMEOUT
          return gateway.connections === 0
        }, { message: () => `no connection: ${gateway.connections}` })
        await Promise.all(sessions.map(({ uid, address }, i) => nothingCounts(uid, address, cases[i].name)))
        // a client that no longer writes would wait until its own timeout
        for (const { client } of sessions) /** @type {any} */ (client.io.engine)._onClose('the test has ended')
      })
      const { engine, connections, connectionLimits } = gateway
      assert.deepEqual([engine.clientsCount, connections, connectionLimits.addresses], [0, 0, 0])
      if (kind.includes('extension')) assert.equal(heard, 2 * number)

      await t.test('that are refused, or never admitted, do not count', async (t) => {
        const auth = { token: await signToken({ sub: 'ada' }) }
        const from = (/** @type {string} */ address) => ({ extraHeaders: { 'X-Forwarded-For': address } })
        for (const transports of [['websocket'], ['polling']]) {
          const refused = createClient(t, server.url, { transports, auth: { token: 'wrong' }, ...from('2.0.0.1') })
          await once(/** @type {any} */ (refused), 'connect_error')
          refused.disconnect()
          await nothingCounts('ada', '2.0.0.1')
          // the user's own limit, and what it refuses
          const some = await Promise.all(
            Array.from({ length: 10 }, () => connectClient(t, server.url, { transports, auth, ...from('2.0.0.2') }))
          )
          const above = createClient(t, server.url, { transports, auth, ...from('2.0.0.3') })
          await once(/** @type {any} */ (above), 'connect_error')
          assert.equal(gateway.users.count('ada'), 10)
          above.disconnect()
          for (const client of some) client.disconnect()
          await nothingCounts('ada', '2.0.0.2')
          await nothingCounts('ada', '2.0.0.3')
        }
        // requests without a session, also many at once on a connection that is cut
        const headers = { 'x-forwarded-for': '2.0.0.4' }
        for (const query of ['EIO=4&transport=none', 'EIO=3&transport=polling', 'EIO=4&transport=polling&j=1'])
          assert.equal((await fetch(`${server.url}/socket.io/?${query}`, { headers })).status, 400)
        const { port } = new URL(server.url)
        const request = 'GET /socket.io/?EIO=3&transport=polling HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 2.0.0.4\r\n\r\n'
        for (const answers of [0, 1]) {
          const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
          socket.write(request.repeat(8))
          await once(socket, answers === 0 ? 'connect' : 'data')
          socket.resetAndDestroy()
        }
        await nothingCounts('ada', '2.0.0.4')
      })

      await t.test('leave no gauge raised', async () => {
        await waitFor(async () => Object.values(await gauges(server)).every((value) => value === 0), {
          message: async () => JSON.stringify(await gauges(server))
        })
      })

      await t.test('that are open when the gateway stops do not count afterwards', async (t) => {
        await Promise.all(Object.values(BEGINNINGS).map(async ({ transports }) =>
          connectClient(t, server.url, {
            transports,
            auth: { token: await signToken({ sub: 'last' }) },
            extraHeaders: { 'X-Forwarded-For': '3.0.0.1' }
          })))
        assert.equal(gateway.connectionLimits.count('3.0.0.1'), Object.keys(BEGINNINGS).length)
        await server.stop()
        await nothingCounts('last', '3.0.0.1')
      })
    })
  }
})
