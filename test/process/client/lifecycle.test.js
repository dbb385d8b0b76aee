import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, describe, test } from 'node:test'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { freePort } from '../../services/ports.js'

const open = await startEmbedded({ after })
const secured = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET })

/** A token with a lifetime in seconds. @param {string} sub @param {number} seconds @param {object} [claims] */
const tokenFor = (sub, seconds, claims = {}) =>
  signToken({ sub, exp: Math.floor(Date.now() / 1000) + seconds, ...claims })

test('when a gateway restarts, clients are notified, reconnect, and resync documents that were in its memory', async (t) => {
  const PORT = String(await freePort())
  const server = await startEmbedded(t, { PORT })
  const client = startClient(t, server.url)
  const doc = await openDocument(client, 'minutes')
  await server.post('/v1/documents/minutes/broadcast', 'before')
  await doc.has('before')
  await server.stop()
  await client.reaches('reconnecting')
  await waitFor(() => client.reason?.code === 'unavailable', { timeout: 20_000 })
  const next = await startEmbedded(t, { PORT })
  await client.reaches('connected')
  await doc.has('resync epoch')
  await next.post('/v1/documents/minutes/broadcast', 'after')
  await doc.has('after')
  assert.deepEqual(doc.seen, ['before', 'resync epoch', 'after'])
  assert.deepEqual(
    client.states.map(([state]) => state),
    ['connected', 'draining', 'reconnecting', 'reconnecting', 'connected']
  )
})

describe('a token', () => {
  test('is refreshed before it expires, and documents that the new token does not allow are closed', async (t) => {
    /** @type {string[]} */
    const asked = []
    const client = startClient(t, secured.url, {
      token: (why) => {
        asked.push(why)
        return why === 'connect'
          ? tokenFor('bob', 30)
          : tokenFor('bob', 600, { documents: [{ guid: 'minutes', access: 'write' }] })
      }
    })
    const [doc, other] = await Promise.all([openDocument(client, 'minutes'), openDocument(client, 'other')])
    await other.has('closed forbidden')
    assert.deepEqual(asked, ['connect', 'expiring'])
    await doc.send('still there')
    assert.equal(doc.live, true)
    await assert.rejects(client.open('other'), { code: 'forbidden' })
  })

  test('that has expired is replaced when the gateway refuses it', async (t) => {
    let renewed = false
    const client = startClient(t, secured.url, {
      token (why) {
        renewed ||= why === 'refused'
        return tokenFor('cy', renewed ? 600 : -600)
      }
    })
    await openDocument(client, 'minutes')
    assert.deepEqual(client.lastingStates(), [['connecting', 'token_expired'], ['connected', undefined]])
  })

  test('that is missing ends the connection, until connect() is called with one', async (t) => {
    let token = ''
    const client = startClient(t, secured.url, { token: () => token })
    await client.reaches('refused')
    assert.equal(client.reason?.code, 'unauthorized')
    token = await tokenFor('dan', 600)
    client.connect()
    await client.reaches('connected')
  })
})

test('a kick ends the connection for good, and a revoke closes the document', async (t) => {
  const client = startClient(t, secured.url, { token: await tokenFor('ada', 600) })
  const [revoked, kept] = await Promise.all([openDocument(client, 'revoked'), openDocument(client, 'kept')])
  await secured.post('/v1/documents/revoked/revoke', { uid: 'ada' })
  await revoked.has('closed forbidden')
  await fetch(`${secured.apiUrl}/v1/users/ada/connections`, { method: 'DELETE' })
  await client.reaches('refused')
  assert.equal(client.reason?.code, 'kicked')
  assert.deepEqual(kept.seen, [])
  // for example after a new login
  client.connect()
  await waitFor(() => kept.live)
  await secured.post('/v1/documents/kept/broadcast', 'goes on')
  await kept.has('goes on')
})

test('if WebSocket is blocked, long polling is used', async (t) => {
  const proxy = http.createServer((req, res) => {
    req.pipe(http.request(`${open.url}${req.url}`, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(res)
    }).on('error', () => res.destroy()))
  })
  proxy.on('upgrade', (_req, socket) => { socket.destroy() })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  const client = startClient(t, `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (proxy.address()).port}`)
  const doc = await openDocument(client, 'minutes')
  assert.equal(client.transport, 'polling')
  await open.post('/v1/documents/minutes/broadcast', 1)
  await doc.has(1)
  assert.deepEqual(client.states.map(([state]) => state), ['connecting', 'connected'])
})

test('clients above the handshake limit are all admitted in the end', async (t) => {
  const server = await startEmbedded(t, { MAX_HANDSHAKES_PER_SECOND: '5' })
  const clients = Array.from({ length: 13 }, () => startClient(t, server.url))
  await waitFor(() => clients.every(({ state }) => state === 'connected'), {
    timeout: 30_000,
    message: () => clients.map(({ state, reason }) => `${state} ${reason?.message}`)
  })
})
