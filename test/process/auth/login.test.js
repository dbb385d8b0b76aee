import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createServer } from 'node:http'
import { systemClock } from '../../../src/base/common/clock.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { countedBy } from '../../helpers/counted.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { forgeToken, SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET as WEBHOOK_SECRET } from '../../helpers/webhook-service.js'

/** The application: an identity, or the refusal, by cookie. */
const file = { after }
const APP = 'https://app.example.com'
const webhook = new Webhook(WEBHOOK_SECRET)
/** @type {any[]} */
const questions = []
/** @type {(() => void)[]} answers that wait, while the application hangs */
const held = []
let hangs = false
let redirected = 0
/** @type {(question: any) => { status?: number, body: unknown, headers?: Record<string, string> }} */
const usual = ({ headers: { cookie = '', authorization = '' }, auth }) => {
  const [, uid] = /\bsid=(\w+)/.exec(cookie) ?? /^Session (\w+)/.exec(authorization) ?? /^opaque-(\w+)/.exec(auth.token ?? '') ?? []
  return uid === undefined ? { status: 401, body: { code: 'no_session', message: 'Log in first' } } : { body: { uid, ...more } }
}
/** @type {Record<string, unknown>} of each identity */
let more = {}
let answer = usual
const application = createServer(async (request, response) => {
  if (request.url !== '/connect') {
    redirected++
    return void response.end(JSON.stringify({ uid: 'redirected' }))
  }
  let text = ''
  for await (const chunk of request) text += chunk
  webhook.verify(text, /** @type {Record<string, string>} */ (request.headers))
  const question = JSON.parse(text)
  questions.push(question)
  if (hangs) await new Promise((resolve) => { held.push(() => resolve(undefined)) })
  const { status = 200, body, headers } = answer(question)
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
})
await new Promise((resolve) => { application.listen(0, '127.0.0.1', () => resolve(undefined)) })
after(() => application.close().closeAllConnections())
const { port } = /** @type {import('node:net').AddressInfo} */ (application.address())

const { log, lines } = recordingLog()
const settings = {
  AUTH_CONNECT_URL: `http://127.0.0.1:${port}/connect`,
  UPLINK_SECRETS: WEBHOOK_SECRET,
  AUTH_JWT_SECRET: SECRET,
  AUTH_COOKIE: 'jwt',
  ALLOWED_ORIGINS: APP,
  TRUSTED_PROXIES: 'loopback'
}
const server = await startEmbedded(file, settings, log)
const { url } = server

afterEach(() => {
  hangs = false
  for (const end of held.splice(0)) end()
  answer = usual
  more = {}
  questions.length = 0
})

/** @param {Record<string, string>} headers */
const from = (headers) => ({ extraHeaders: { origin: APP, ...headers } })
/** @param {any} client @returns {import('../../../src/people/auth/identity.js').Identity} */
const identityOf = (client) => {
  const found = [...server.gateway.directory.all()].find(({ id }) => id === client.id)
  assert.ok(found)
  return found.identity
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Parameters<typeof createClient>[2]} options
 * @returns {Promise<any>}
 */
async function refusal (t, options, address = url) {
  const client = createClient(t, address, options)
  const [error] = await client.next('connect_error')
  client.disconnect()
  return error
}

/** @param {string} uid @param {any} [client] that it ends */
async function kick (uid, client) {
  const ended = client?.next('gateway:disconnect')
  assert.equal((await fetch(`${server.apiUrl}/v1/users/${uid}/connections`, { method: 'DELETE' })).status, 202)
  await ended
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uid
 * @returns {Promise<string[]>} codes of the refusals that a client gets, to the first that it may not retry after
 */
async function codes (t, uid) {
  const all = []
  for (let retryable = true; retryable;) {
    const { data } = await refusal(t, from({ cookie: `sid=${uid}` }))
    all.push(data.code)
    retryable = data.retryable
  }
  return all
}

describe('a login by the session of the application', () => {
  test('makes the identity, and the client is refused with the code of the application', async (t) => {
    more = { name: 'Ada', documents: [{ guid: 'plan', access: 'read' }], data: { plan: 'pro' } }
    const client = await connectClient(t, url, {
      ...from({ cookie: 'theme=dark; sid=ada', 'x-forwarded-for': '198.51.100.9, 203.0.113.7', 'x-other': 'no' }),
      auth: { device: 'phone', documents: { plan: null } }
    })
    assert.deepEqual(questions, [{
      headers: { cookie: 'theme=dark; sid=ada' }, origin: APP, address: '203.0.113.7', auth: { device: 'phone' }
    }])
    const { issuedAt, ...identity } = identityOf(client)
    assert.deepEqual(identity, {
      uid: 'ada', name: 'Ada', grants: [{ guid: 'plan', access: 'read' }], data: { plan: 'pro' }, expiresAt: null, anonymous: false
    })
    assert.equal(typeof issuedAt, 'number')
    assert.equal((await client.ask('doc:join', { guid: 'other' })).error.code, 'forbidden')
    const error = await refusal(t, from({ cookie: 'theme=dark' }))
    assert.deepEqual([error.message, error.data], ['Log in first', { code: 'no_session', retryable: false }])
    const series = Object.keys(await countedBy(server.metrics.handshakes))
    assert.deepEqual(series.filter((name) => name.includes('no_session')), [], 'no codes of applications')
  })

  test('is not awaited by clients with a JWT, nor by those whose answer is known', async (t) => {
    more = { refreshInMs: 600_000 }
    await connectClient(t, url, from({ cookie: 'sid=known' }))
    hangs = true
    const slow = createClient(t, url, from({ cookie: 'sid=slow' }))
    await waitFor(() => held.length === 1)
    const token = await signToken({ sub: 'jwt' })
    const clients = await Promise.all([
      connectClient(t, url, { ...from({ cookie: 'sid=known' }), auth: { documents: { more: null } } }),
      connectClient(t, url, { ...from({ cookie: 'sid=slow' }), auth: { token } }),
      connectClient(t, url, from({ authorization: `Bearer ${token}` })),
      connectClient(t, url, from({ cookie: `sid=slow; jwt=${token}` })),
      connectClient(t, `${url}?token=${token}`, from({}))
    ])
    assert.deepEqual(clients.map((client) => identityOf(client).uid), ['known', 'jwt', 'jwt', 'jwt', 'jwt'])
    assert.deepEqual([questions.length, slow.connected], [2, false])
    held.pop()?.()
    await waitFor(() => slow.connected)
    assert.equal(identityOf(slow).uid, 'slow')
  })

  test('by an opaque token in auth, the query or a header, each as the application reads it', async (t) => {
    await connectClient(t, url, { ...from({}), auth: { token: 'opaque-auth' } })
    await connectClient(t, `${url}?token=opaque-query`, { ...from({}), auth: { x: 1 } })
    await connectClient(t, url, from({ authorization: 'Session header' }))
    assert.deepEqual(questions.map(({ headers, auth }) => [headers, auth]), [
      [{}, { token: 'opaque-auth' }], [{}, { x: 1, token: 'opaque-query' }], [{ authorization: 'Session header' }, {}]
    ])
    const expired = await signToken({ sub: 'u', exp: 1 })
    const error = await refusal(t, { ...from({ cookie: 'sid=ada' }), auth: { token: expired } })
    assert.deepEqual([error.data.code, questions.length], ['token_expired', 3], 'a JWT that is too old has to be renewed')
    const forged = forgeToken({ sub: 'admin' }, { key: 'another secret' })
    const client = await connectClient(t, url, { ...from({ cookie: 'sid=ada' }), auth: { token: forged } })
    assert.deepEqual([identityOf(client).uid, questions.at(-1).auth.token], ['ada', forged])
  })

  test('is unavailable while the application is wrong; redirects are not followed', async (t) => {
    for (const wrong of [
      { status: 500, body: { uid: 'ada' } }, { body: '<html>' }, { body: { uid: 'ada', data: 'x'.repeat(600_000) } },
      { status: 302, body: '', headers: { location: `http://127.0.0.1:${port}/elsewhere` } }
    ]) {
      answer = () => wrong
      const { data } = await refusal(t, from({ cookie: 'sid=ada' }))
      assert.deepEqual([data.code, data.retryable], ['unavailable', true], JSON.stringify(wrong).slice(0, 80))
    }
    assert.equal(redirected, 0)
    answer = usual
    await connectClient(t, url, from({ cookie: 'sid=ada' }))
  })

  test('is that of the request that opened the session, whatever its other requests have', async (t) => {
    const client = createClient(t, url, { ...from({ cookie: 'sid=ada' }), transports: ['polling', 'websocket'] })
    const { engine } = client.io
    // the CONNECT, the next polls and the upgrade have another cookie
    engine.once('handshake', () => { /** @type {any} */ (engine).opts.extraHeaders.cookie = 'sid=eve' })
    await client.next('connect')
    await waitFor(() => engine.transport.name === 'websocket')
    assert.deepEqual([identityOf(client).uid, questions.length, questions[0].headers.cookie], ['ada', 1, 'sid=ada'])
  })

  test('ends with its time, is renewed by a new token, and by a kick', async (t) => {
    more = { expiresAt: Date.now() + 3_600_000 }
    const client = await connectClient(t, url, { ...from({}), auth: { token: 'opaque-ada' } })
    more = { expiresAt: Date.now() + 7_200_000 }
    assert.deepEqual(await client.ask('auth:refresh', { token: 'opaque-ada' }), { ok: true, expiresAt: more.expiresAt })
    assert.deepEqual(questions.at(-1), { headers: {}, origin: null, address: null, auth: { token: 'opaque-ada' } })
    assert.equal((await client.ask('auth:refresh', { token: 'opaque-eve' })).error.code, 'forbidden')
    assert.equal((await client.ask('auth:refresh', { token: 'x' })).error.code, 'no_session')
    let later = 0
    const clock = { ...systemClock, now: () => systemClock.now() + later }
    const other = await startEmbedded(t, settings, log, { clock })
    more = { expiresAt: Date.now() + 3_600_000 }
    const short = await connectClient(t, other.url, from({ cookie: 'sid=short' }))
    const farewell = short.next('gateway:disconnect')
    later = 3_600_000
    assert.equal((await farewell)[0].code, 'token_expired')
    const kicked = client.next('gateway:disconnect')
    assert.equal((await fetch(`${server.apiUrl}/v1/users/ada/connections`, { method: 'DELETE' })).status, 202)
    assert.equal((await kicked)[0].code, 'kicked')
  })

  test('after a logout and a kick is refused, although its answer was kept, until the application admits it', async (t) => {
    more = { refreshInMs: 60_000 }
    const client = await connectClient(t, url, from({ cookie: 'sid=eve' }))
    answer = () => ({ status: 401, body: { code: 'no_session' } })
    await kick('eve', client)
    assert.deepEqual(await codes(t, 'eve'), ['unavailable', 'no_session'])
    answer = usual
    await connectClient(t, url, from({ cookie: 'sid=eve' }))
    assert.equal((await connectClient(t, url, from({ cookie: 'sid=eve' }))).connected, true)
    assert.equal(questions.length, 3)
  })

  test('that is in progress during a kick is refused once', async (t) => {
    hangs = true
    const refused = refusal(t, from({ cookie: 'sid=joe' }))
    await waitFor(() => held.length === 1)
    await kick('joe')
    hangs = false
    held.pop()?.()
    const { data } = await refused
    assert.deepEqual([data.code, data.retryable], ['unavailable', true])
    await connectClient(t, url, from({ cookie: 'sid=joe' }))
  })

  test('ends with a kick while a middleware of an extension decides', async (t) => {
    /** @type {() => void} */
    let decide = assert.fail
    server.gateway.io.use((/** @type {any} */ socket, /** @type {() => void} */ next) => {
      if (socket.handshake.auth.waits) decide = next
      else next()
    })
    const open = await connectClient(t, url, from({ cookie: 'sid=slow' }))
    const client = createClient(t, url, { ...from({ cookie: 'sid=slow' }), auth: { waits: true } })
    await waitFor(() => decide !== assert.fail)
    await kick('slow', open)
    const farewell = client.next('gateway:disconnect')
    decide()
    assert.equal((await farewell)[0].code, 'kicked')
  })

  test('opens a document after a revocation by an answer that is newer, and not by a known one', async (t) => {
    more = { refreshInMs: 600_000, documents: [{ guid: 'plan', access: 'read' }] }
    const client = await connectClient(t, url, from({ cookie: 'sid=bob' }))
    assert.equal((await client.ask('doc:join', { guid: 'plan' })).ok, true)
    const revoked = client.next('doc:revoked')
    assert.equal((await server.post('/v1/documents/plan/revoke', { uid: 'bob' })).status, 202)
    await revoked
    const again = await connectClient(t, url, from({ cookie: 'sid=bob' }))
    assert.equal((await again.ask('doc:join', { guid: 'plan' })).error.code, 'forbidden')
    // the gateway knows the clock of Redis, which dates both, to within a round trip
    let i = 0
    await waitFor(async () => {
      const newer = await connectClient(t, url, from({ cookie: `sid=bob; again=${++i}` }))
      return (await newer.ask('doc:join', { guid: 'plan' })).ok
    })
  })
})

describe('a login by a cookie', () => {
  test('needs a page of an allowed origin, and one cookie of the name', async (t) => {
    const token = await signToken({ sub: 'ada' })
    const cookie = `jwt="${token}"`
    assert.equal(identityOf(await connectClient(t, url, from({ cookie }))).uid, 'ada')
    const own = { cookie, 'sec-fetch-site': 'same-origin' }
    await connectClient(t, url, { extraHeaders: own, transports: ['polling'] })
    assert.equal((await refusal(t, { extraHeaders: { cookie } })).data.code, 'origin_refused')
    assert.equal((await refusal(t, { extraHeaders: { cookie, 'sec-fetch-site': 'none' } })).data.code, 'origin_refused')
    assert.equal((await refusal(t, from({ cookie: `${cookie}; jwt=${token}` }))).data.code, 'unauthorized')
    const foreign = await refusal(t, { extraHeaders: { origin: 'https://evil.example.com', cookie: `${cookie}; sid=ada` } })
    assert.equal(foreign.type, 'TransportError')
    assert.equal(questions.length, 0)
    // a client that sends its token itself needs no origin
    await connectClient(t, url, { extraHeaders: { authorization: `Bearer ${token}` } })
  })
})

test('nothing that clients have sent is in the log', async (t) => {
  const token = await signToken({ sub: 'secret-user' }, { key: 'a secret that is not the one of this gateway' })
  await refusal(t, from({}), `${url}?token=${token}`)
  await refusal(t, { extraHeaders: { origin: 'https://x.example.com', cookie: 'sid=hidden' } }, `${url}?token=${token}`)
  const text = JSON.stringify(lines)
  assert.ok(lines.length > 5)
  assert.doesNotMatch(text, /hidden|opaque-|token=|sid=|eyJ/)
})
