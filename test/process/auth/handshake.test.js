import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { httpService } from '../../helpers/http-service.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'
import { SECRET, forgeToken, keyPairFor, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { AUTH_JWT_SECRET: SECRET, MAX_DOCUMENTS_PER_CONNECTION: '5' })
const bus = watchBus(server)
const { url } = server

const seconds = () => Math.floor(Date.now() / 1000)
/** @param {string} guid @param {'read' | 'write'} access */
const grant = (guid, access) => ({ guid, access })

/**
 * @param {import('node:test').TestContext} t
 * @param {any} auth
 * @param {{ address?: string, codec?: 'json' | 'msgpack' }} [options]
 * @returns {Promise<any>} the error of the refused handshake
 */
async function refused (t, auth, { address = url, codec } = {}) {
  const client = createClient(t, address, { auth, codec })
  const error = /** @type {any} */ ((await client.next('connect_error'))[0])
  assert.equal(client.connected, false)
  client.disconnect()
  return error
}

/** @param {any} answer */
const codeOf = ({ ok, error }) => ok ? 'ok' : error.code

describe('a handshake', () => {
  test('needs a token if there is a key, and gets the reason of a refusal', async (t) => {
    /** @type {[unknown, string][]} */
    const cases = [
      [{}, 'unauthorized'],
      [{ token: null }, 'unauthorized'],
      [{ token: 'x' }, 'unauthorized'],
      [{ token: await signToken({ sub: 'u' }, { key: SECRET.replace('a', 'b') }) }, 'unauthorized'],
      [{ token: await signToken({}) }, 'unauthorized'],
      [{ token: forgeToken({ sub: 'u' }, { header: { alg: 'none' } }) }, 'unauthorized'],
      [{ token: await signToken({ sub: 'anonymous:x' }) }, 'unauthorized'],
      [{ token: await signToken({ sub: 'u', exp: seconds() - 60 }) }, 'token_expired']
    ]
    for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
      for (const [auth, code] of cases) {
        const error = await refused(t, auth, { codec })
        assert.deepEqual(error.data, { code, retryable: false }, JSON.stringify(auth))
        assert.ok(error.message.length > 5)
      }
    }
    const client = await connectClient(t, url, { auth: { token: await signToken({ sub: 'u', exp: seconds() + 60 }) } })
    assert.deepEqual([...bus.users], ['u'])
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('needs no token if anonymous clients are allowed, but a token must be valid', async (t) => {
    const open = await startEmbedded(t)
    const users = watchBus(open).users
    await Promise.all([connectClient(t, open.url), connectClient(t, open.url)])
    assert.equal(users.size, 2)
    for (const uid of users) assert.match(String(uid), /^anonymous:/)
    assert.equal(
      (await refused(t, { token: await signToken({ sub: 'u' }) }, { address: open.url })).data.code,
      'unauthorized'
    )
    const both = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'true' })
    await connectClient(t, both.url)
    assert.equal((await refused(t, { token: 'x' }, { address: both.url })).data.code, 'unauthorized')
  })

  test('needs a token of the right type and not too many documents, and may have other fields', async (t) => {
    const token = await signToken({ sub: 'u' })
    for (const auth of [{ token: 5 }, { token: {} }, { token: ['x'] }])
      assert.deepEqual((await refused(t, auth)).data, { code: 'bad_request', retryable: false }, JSON.stringify(auth))
    const many = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`d${i}`, null]))
    assert.deepEqual((await refused(t, { token, documents: many })).data, {
      code: 'too_many_documents',
      retryable: false
    })
    const client = await connectClient(t, url, {
      auth: { token, client: null, documents: null, other: { more: 1 }, pid: 'x', offset: 'y', constructor: 1 }
    })
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('is refused for its number of documents first, then for its token, and never for a part', async (t) => {
    const token = await signToken({ sub: 'u' })
    const few = { 'a\nb': 1 }
    const many = { ...few, b: 1, c: 1, d: 1, e: 1, f: 1 }
    for (const [auth, code] of [
      [{ documents: few }, 'unauthorized'],
      [{ token: 'x', documents: few }, 'unauthorized'],
      [{ documents: many }, 'too_many_documents'],
      [{ token, documents: many }, 'too_many_documents']
    ]) {
      assert.equal((await refused(t, auth)).data.code, code)
    }
    await connectClient(t, url, { auth: { token, documents: few } })
  })

  test('with more values than its documents need is refused before it is decoded', async (t) => {
    const fields = (/** @type {number} */ count) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`field ${i}`, 1]))
    for (const [auth, code] of /** @type {[object, string][]} */ ([
      [{ documents: fields(6) }, 'too_many_documents'],
      [{ documents: fields(600) }, 'bad_value'],
      [{ documents: { wide: fields(500) } }, 'unauthorized'],
      [{ documents: { wide: fields(600) } }, 'bad_value'],
      [fields(500), 'unauthorized'],
      [{ token: '[,'.repeat(10_000) }, 'unauthorized'],
      [fields(600), 'bad_value'],
      [{ token: Array(3000).fill([]) }, 'bad_value']
    ])) {
      const json = await rawWebSocket(t, url)
      json.send(`40${JSON.stringify(auth)}`)
      assert.match(await json.text(/^44/), new RegExp(`"code":"${code}"`))
      json.ws.close()
      const msgpack = await rawWebSocket(t, url)
      msgpack.send(encodeMsgpack({ type: 0, nsp: '/', data: auth }))
      await waitFor(() => msgpack.received.length === 2)
      assert.ok(
        msgpack.received[1].toString('latin1').includes(code),
        `${code} in ${msgpack.received[1].toString('latin1')}`
      )
      msgpack.ws.close()
    }
    await nothingLeft(server, bus)
  })

  test('joins documents, each with a response of its own', async (t) => {
    const token = await signToken({ sub: 'u', documents: [grant('mine', 'read'), grant('team/*', 'write')] })
    const client = createClient(t, url, {
      auth: {
        token,
        documents: { mine: null, 'team/{ä}': { epoch: 'other', offset: 3 }, theirs: null, ['__proto__']: null }
      }
    })
    const all = () => client.received.filter(({ event }) => event === 'doc:joined' || event === 'doc:refused')
    await waitFor(() => all().length === 4)
    const answers = Object.fromEntries(all().map(({ event, payload }) => [payload.guid, { event, payload }]))
    assert.equal(answers.mine.event, 'doc:joined')
    assert.deepEqual(Object.keys(answers.mine.payload), ['guid', 'position', 'recovered', 'access'])
    assert.deepEqual([answers['team/{ä}'].event, answers['team/{ä}'].payload.recovered], ['doc:joined', false])
    assert.deepEqual(answers.theirs, {
      event: 'doc:refused',
      payload: { guid: 'theirs', error: { code: 'forbidden', message: 'not allowed', retryable: false } }
    })
    const resync = client.received.find(({ event }) => event === 'doc:resync')
    assert.deepEqual(resync?.payload, {
      guid: 'team/{ä}',
      position: answers['team/{ä}'].payload.position,
      reason: 'epoch'
    })
    assert.deepEqual([...bus.documents].sort(), ['mine', 'team/{ä}'])
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('leaves no user behind when an extension refuses the socket, or its transport closes', async (t) => {
    const own = await startEmbedded(t)
    const watched = watchBus(own)
    own.gateway.io.use((socket, next) => {
      if (socket.conn.transport.name === 'polling') socket.conn.close(true)
      next(new Error('no'))
    })
    const error = await refused(t, {}, { address: own.url })
    assert.equal(error.message, 'no')
    createClient(t, own.url, { transports: ['polling'] })
    await waitFor(() => own.gateway.engine.clientsCount === 0)
    await nothingLeft(own, watched)
  })

  test('keeps no token in places that extensions and other processes can read', async (t) => {
    const token = await signToken({ sub: 'u' })
    const client = await connectClient(t, url, { auth: { token } })
    const [socket] = await server.gateway.io.fetchSockets()
    const { id, handshake, rooms, data } = socket
    assert.equal(id, client.id)
    assert.doesNotMatch(JSON.stringify({ id, handshake, rooms: [...rooms], data }), new RegExp(token))
    client.disconnect()
    await nothingLeft(server, bus)
  })
})

describe('grants', () => {
  test('decide about join, send and signal', async (t) => {
    const token = await signToken({
      sub: 'u',
      documents: [grant('read', 'read'), grant('write', 'write'), grant('a/*', 'read'), grant('a/b', 'write')]
    })
    const client = await connectClient(t, url, { auth: { token } })
    /** @type {[string, string, string][]} guid, and the response codes of join and send */
    const cases = [
      ['read', 'ok', 'forbidden'],
      ['write', 'ok', 'ok'],
      ['a/x', 'ok', 'forbidden'],
      ['a/b', 'ok', 'ok'],
      ['other', 'forbidden', 'not_joined'],
      ['rea', 'forbidden', 'not_joined'],
      ['a', 'forbidden', 'not_joined']
    ]
    for (const [guid, join, send] of cases) {
      assert.equal(codeOf(await client.ask('doc:join', { guid })), join, guid)
      assert.equal(codeOf(await client.ask('doc:send', { guid, data: 1 })), send, guid)
      assert.equal(codeOf(await client.ask('doc:signal', { guid, event: 'x', data: 1 })), send, guid)
    }
    assert.equal(bus.documents.size, 4)
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('are replaced by auth:refresh, and documents that they no longer allow are left', async (t) => {
    const token = await signToken({
      sub: 'u',
      documents: [grant('a', 'write'), grant('b', 'write'), grant('c', 'read')]
    })
    const client = await connectClient(t, url, { auth: { token, documents: { a: null, b: null, c: null } } })
    await waitFor(() => bus.documents.size === 3)
    const exp = seconds() + 600
    const fewer = await signToken({ sub: 'u', exp, documents: [grant('a', 'read'), grant('c', 'read')] })
    assert.deepEqual(await client.ask('auth:refresh', { token: fewer }), { ok: true, expiresAt: exp * 1000 })
    assert.deepEqual(
      client.received.filter(({ event }) => event === 'doc:revoked').map(({ payload }) => payload),
      [{ guid: 'b' }]
    )
    assert.deepEqual([...bus.documents].sort(), ['a', 'c'])
    assert.equal(codeOf(await client.ask('doc:send', { guid: 'a', data: 1 })), 'forbidden')
    assert.equal(codeOf(await client.ask('doc:send', { guid: 'b', data: 1 })), 'not_joined')
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('stay as they are when auth:refresh is refused', async (t) => {
    const client = await connectClient(t, url, {
      auth: { token: await signToken({ sub: 'u', documents: [grant('a', 'write')] }) }
    })
    await client.ask('doc:join', { guid: 'a' })
    for (const [token, code] of [
      [await signToken({ sub: 'v' }), 'forbidden'],
      [await signToken({ sub: 'u', exp: seconds() - 60 }), 'token_expired'],
      ['x', 'unauthorized'],
      ['', 'unauthorized']
    ]) {
      assert.equal(codeOf(await client.ask('auth:refresh', { token })), code)
    }
    assert.equal(codeOf(await client.ask('doc:send', { guid: 'a', data: 1 })), 'ok')
    assert.equal(codeOf(await client.ask('doc:join', { guid: 'b' })), 'forbidden')
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('stay as they are when the access service fails during auth:refresh', async (t) => {
    let away = true
    const hook = await httpService(t, ({ body }) =>
      away ? { status: 500, body: '' } : { body: JSON.stringify({ allow: JSON.parse(body).guid !== 'secret' }) }
    )
    const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET, AUTH_ACCESS_URL: hook.url })
    const client = await connectClient(t, own.url, {
      auth: { token: await signToken({ sub: 'u', documents: [grant('secret', 'read')] }) }
    })
    assert.equal(codeOf(await client.ask('doc:join', { guid: 'secret' })), 'ok')
    const token = await signToken({ sub: 'u', exp: seconds() + 600 })
    assert.equal(codeOf(await client.ask('auth:refresh', { token })), 'unavailable')
    // the old token's grants decide without a request to the access service
    assert.equal(codeOf(await client.ask('doc:join', { guid: 'other' })), 'forbidden')
    assert.equal(codeOf(await client.ask('doc:send', { guid: 'secret', data: 1 })), 'forbidden')
    away = false
    assert.equal(codeOf(await client.ask('auth:refresh', { token })), 'ok')
    assert.deepEqual(client.received, [{ event: 'doc:revoked', payload: { guid: 'secret' }, meta: undefined }])
    assert.equal(codeOf(await client.ask('doc:join', { guid: 'other' })), 'ok')
  })
})

test('an expired token ends its connection, after a warning and with a reason', async (t) => {
  // time stands still until both are connected and one has a new token: in a second that was looked through before
  let now = Date.now()
  const clock = { ...systemClock, now: () => now }
  const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET }, undefined, { clock })
  const watched = watchBus(own)
  now -= 5000
  // just expired, but accepted: clocks may differ by some seconds
  const exp = Math.floor(now / 1000) - 2
  const client = await connectClient(t, own.url, { auth: { token: await signToken({ sub: 'u', exp }) } })
  const kept = await connectClient(t, own.url, { auth: { token: await signToken({ sub: 'v', exp }) } })
  await kept.ask('auth:refresh', { token: await signToken({ sub: 'v', exp: exp + 32 }) })
  const closed = client.next('disconnect')
  now += 2000
  const [reason] = await closed
  assert.equal(reason, 'io server disconnect')
  assert.deepEqual(client.received, [
    {
      event: 'gateway:disconnect',
      payload: { code: 'token_expired', message: 'the token has expired', retryable: false },
      meta: undefined
    }
  ])
  await waitFor(() => kept.received.length > 0)
  const [{ event, payload }] = kept.received
  assert.equal(event, 'auth:expiring')
  assert.ok(payload.inMs > 25_000 && payload.inMs <= 30_000, payload.inMs)
  assert.equal(kept.connected, true)
  kept.disconnect()
  await nothingLeft(own, watched)
})

test('a connection whose key the issuer withdraws is warned and closed, one with another key stays', async (t) => {
  t.mock.method(systemRandom, 'number', () => 0)
  const pairs = ['old', 'new'].map((kid) => ({ kid, pair: keyPairFor('ES256') }))
  let there = pairs
  const issuer = await httpService(t, () => ({
    body: JSON.stringify({ keys: there.map(({ kid, pair }) => ({ kid, ...pair.publicKey.export({ format: 'jwk' }) })) })
  }))
  let passed = 0
  const monotonic = () => systemClock.monotonic() + passed
  const own = await startEmbedded(t, { AUTH_JWKS_URL: issuer.url }, undefined, { clock: { ...systemClock, monotonic } })
  const tokens = await Promise.all(
    pairs.map(({ kid, pair }) => signToken({ sub: kid }, { alg: 'ES256', key: pair.privateKey, header: { kid } }))
  )
  const [old, kept] = await Promise.all(tokens.map((token) => connectClient(t, own.url, { auth: { token } })))
  there = pairs.slice(1)
  const warning = old.next('auth:expiring')
  // a token with an unknown key id triggers a fetch of the set, 10 s after the last one
  passed = 10_000
  const unknown = await signToken(
    { sub: 'x' },
    { alg: 'ES256', key: pairs[0].pair.privateKey, header: { kid: 'unknown' } }
  )
  assert.equal((await refused(t, { token: unknown }, { address: own.url })).data.code, 'unauthorized')
  const [{ inMs }] = await warning
  assert.ok(inMs > 100_000 && inMs <= 120_000, inMs)
  assert.deepEqual(kept.received, [])
  assert.equal((await refused(t, { token: tokens[0] }, { address: own.url })).data.retryable, true)
})
