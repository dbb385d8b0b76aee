import assert from 'node:assert/strict'
import http from 'node:http'
import { after, describe, test } from 'node:test'
import WebSocket from 'ws'
import { systemClock } from '../../../src/base/common/clock.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawPolling } from '../../helpers/raw-client.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { createOrigins } from '../../../src/transport/admission/origin.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'

const HANDSHAKE = '/socket.io/?EIO=4&transport=polling'
const PRODUCTION = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  AUTH_ALLOW_ANONYMOUS: 'true',
  API_TOKENS: 'test:0123456789abcdef'
}

const file = { after }
const development = await startEmbedded(file)
const production = await startEmbedded(file, {
  ...PRODUCTION,
  ALLOWED_ORIGINS: 'https://a.example, https://b.example:8443, https://*.apps.example'
})
const anywhere = await startEmbedded(file, { ALLOWED_ORIGINS: '*' })

/**
 * A request with the headers of a browser; fetch sets some of them itself.
 * @param {string} url
 * @param {Record<string, string | undefined>} headers undefined: not sent
 * @param {string} [method]
 * @returns {Promise<{ status: number | undefined, allowed: string | undefined, credentials: string | undefined, vary:
 *   string | undefined, body: string }>}
 */
function request (url, headers, method = 'GET') {
  return new Promise((resolve, reject) => {
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
    http.request(url, { method, headers: sent, agent: false }, (res) => {
      let body = ''
      res.setEncoding('utf8').on('data', (chunk) => { body += chunk })
      res.on('end', () =>
        resolve({
          status: res.statusCode,
          allowed: res.headers['access-control-allow-origin'],
          credentials: res.headers['access-control-allow-credentials'],
          vary: res.headers.vary,
          body
        })
      )
    }).on('error', reject).end()
  })
}

/** @param {string} url @param {string} origin */
const handshakeFrom = async (url, origin) => withoutBody(await request(url + HANDSHAKE, { origin }))

/** @param {Awaited<ReturnType<typeof request>>} answer */
const withoutBody = ({ status, allowed, credentials, vary }) => ({ status, allowed, credentials, vary })

/**
 * @param {string} url
 * @param {string} origin
 * @param {string} [query]
 * @returns {Promise<boolean>} whether a WebSocket opens
 */
function opensFrom (url, origin, query = '&transport=websocket') {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4${query}`, { origin })
  return new Promise((resolve) => {
    ws.on('message', () => { resolve(true); ws.terminate() })
    ws.on('error', () => resolve(false))
  })
}

const refused = (/** @type {string} */ origin) => ({
  status: 403,
  allowed: origin,
  credentials: 'true',
  vary: 'Origin'
})
const accepted = (/** @type {string} */ origin) => ({
  status: 200,
  allowed: origin,
  credentials: 'true',
  vary: 'Origin'
})

describe('the origin of a page', () => {
  test('must be the gateway\'s own, if none is set', async (t) => {
    const { url } = await startEmbedded(t, PRODUCTION)
    assert.deepEqual(await handshakeFrom(url, url), accepted(url))
    assert.equal(await opensFrom(url, url), true)
    for (const origin of [
      'http://a.example',
      'null',
      url.replace(/:\d+$/, ':1'),
      'http://localhost',
      `${url}.a.example`,
      'nonsense'
    ]) {
      assert.deepEqual(await handshakeFrom(url, origin), refused(origin), origin)
      assert.equal(await opensFrom(url, origin), false, origin)
    }
  })

  test('may be any origin of this machine in development', async () => {
    const { url } = development
    for (const origin of [
      'http://localhost:5173',
      'https://localhost',
      'http://127.0.0.1:8080',
      'http://127.5.5.5',
      'http://[::1]:3000',
      'http://app.localhost:5173'
    ]) {
      assert.deepEqual(await handshakeFrom(url, origin), accepted(origin), origin)
      assert.equal(await opensFrom(url, origin), true, origin)
    }
    for (const origin of [
      'http://localhost.a.example',
      'http://a.example:3000',
      'null',
      'ftp://localhost',
      'http://localhost:1@a.example',
      'http://127.0.0.1.a.example',
      'http://128.0.0.1'
    ]) {
      assert.deepEqual(await handshakeFrom(url, origin), refused(origin), origin)
      assert.equal(await opensFrom(url, origin), false, origin)
    }
  })

  test('must be one of the setting, which does not include the gateway\'s own by default', async () => {
    const { url } = production
    for (const [origin, ok] of /** @type {const} */ ([
      ['https://a.example', true],
      ['https://b.example:8443', true],
      ['https://b.example', false],
      ['https://team.apps.example', true],
      ['https://pr-7.team.apps.example', true],
      ['https://apps.example', false],
      ['http://team.apps.example', false],
      ['https://team.apps.example:8443', false],
      ['https://evil-apps.example', false],
      ['https://x@team.apps.example', false],
      ['https://evil.example/.apps.example', false],
      ['http://a.example', false],
      [url, false],
      ['null', false]
    ])) {
      assert.deepEqual(await handshakeFrom(url, origin), ok ? accepted(origin) : refused(origin), origin)
      assert.equal(await opensFrom(url, origin), ok, origin)
    }
  })

  test('may be any, if set to *', async () => {
    assert.equal((await handshakeFrom(anywhere.url, 'http://a.example')).allowed, 'http://a.example')
    assert.equal(await opensFrom(anywhere.url, 'null'), true)
    assert.equal((await request(anywhere.url + HANDSHAKE, { host: 'a.example' })).status, 200)
  })

  test('is checked in a preflight before a request that is not simple', async () => {
    const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
    const answer = await request(production.url + HANDSHAKE, { ...preflight, origin: 'https://a.example' }, 'OPTIONS')
    assert.deepEqual(withoutBody(answer), {
      status: 204,
      allowed: 'https://a.example',
      credentials: 'true',
      vary: 'Origin, Access-Control-Request-Headers'
    })
    assert.equal(
      (await request(production.url + HANDSHAKE, { ...preflight, origin: 'http://evil.example' }, 'OPTIONS')).status,
      403
    )
  })

  test('is checked in each request, also of an existing session', async () => {
    const { url } = production
    const session = await rawPolling(url)
    await session.connect()
    const evil = { origin: 'http://evil.example' }
    for (const method of ['GET', 'POST'])
      assert.equal((await request(session.address, evil, method)).status, 403, method)
    assert.equal(await opensFrom(url, evil.origin, `&transport=websocket&sid=${session.sid}`), false)
    assert.ok(await session.leave())
  })

  test('is missing from a script or an image of another site, which is refused', async () => {
    const { url } = production
    for (const site of ['cross-site', 'same-site'])
      assert.equal((await request(url + HANDSHAKE, { 'sec-fetch-site': site })).status, 403, site)
    for (const site of ['same-origin', 'none', undefined])
      assert.equal((await request(url + HANDSHAKE, { 'sec-fetch-site': site })).status, 200, site)
    assert.equal(
      (await request(url + HANDSHAKE, { 'sec-fetch-site': 'cross-site', origin: 'https://a.example' })).status,
      200
    )
    assert.equal(
      (await request(`${development.url}/`, { 'sec-fetch-site': 'cross-site' })).status,
      200,
      'a link to the demo page'
    )
  })

  test('does not matter for clients other than browsers', async () => {
    assert.equal((await fetch(production.url + HANDSHAKE)).status, 200)
  })
})

describe('a refusal', () => {
  test('is answered with the setting to change', async () => {
    const { body } = await request(development.url + HANDSHAKE, { origin: 'http://a.example' })
    assert.deepEqual(JSON.parse(body), {
      code: 'origin_refused',
      message: 'pages of http://a.example may not connect: add this origin to ALLOWED_ORIGINS',
      retryable: false
    })
    assert.match(
      JSON.parse((await request(development.url + HANDSHAKE, { origin: 'null' })).body).message,
      /serve it over HTTP/
    )
  })

  test('is logged once for each origin, up to a limit', async () => {
    const { log, lines } = recordingLog()
    const metrics = createMetrics({ processMetrics: false })
    const origins = createOrigins({ allowed: [], metrics, log, clock: systemClock })
    const refuse = (/** @type {string} */ origin) =>
      origins.refuse(
        { headers: { origin, host: 'x' } },
        /** @type {any} */ ({
          writeHead () {
            return this
          },
          end () {}
        })
      )
    for (let i = 0; i < 3; i++) assert.equal(refuse('http://a.example'), true)
    assert.deepEqual(lines.map(({ level }) => level), ['warn'])
    assert.match(lines[0].text, /pages of http:\/\/a\.example may not connect: add this origin to ALLOWED_ORIGINS/)
    for (let i = 0; i < 1000; i++) refuse(`http://${i}.example/${'x'.repeat(1000)}`)
    assert.equal(lines.length, 101)
    assert.ok(lines.every(({ text }) => text.length < 1000))
    assert.equal(
      (await metrics.handshakes.get()).values.find(({ labels }) => labels.result === 'origin_refused')?.value,
      1003
    )
  })
})

describe('a gateway in development without authentication', () => {
  test('refuses a stranger\'s host name that points here (DNS rebinding)', async () => {
    const { url } = development
    for (const host of [
      'rebound.evil.example',
      'evil.example:3000',
      'localhost.evil.example',
      '127.0.0.1.evil.example'
    ]) {
      for (const headers of [{ host }, { host, origin: `http://${host}` }])
        assert.equal((await request(url + HANDSHAKE, headers)).status, 403, host)
      assert.equal((await request(`${url}/`, { host })).status, 403, host)
    }
  })

  test('accepts names of this machine and of private networks', async () => {
    for (const host of [
      'localhost:3000',
      '127.0.0.1',
      '[::1]:3000',
      '192.168.1.5:3000',
      'inkcast:3000',
      'my-laptop',
      'app.localhost',
      'host.docker.internal:3000',
      'my-laptop.local'
    ]) {
      assert.equal((await request(development.url + HANDSHAKE, { host })).status, 200, host)
      assert.equal((await request(development.url + HANDSHAKE, { host, origin: `http://${host}` })).status, 200, host)
    }
  })

  test('accepts any name in production, or with a key', async (t) => {
    const keyed = await startEmbedded(t, { AUTH_JWT_SECRET: 'a-secret-of-at-least-32-characters' })
    for (const { url } of [keyed, await startEmbedded(t, PRODUCTION)])
      assert.equal((await request(url + HANDSHAKE, { host: 'docs.example' })).status, 200)
  })
})

test('JSONP is not answered: any page may load a script', async () => {
  for (const url of [production.url, anywhere.url]) {
    const { status, body } = await request(`${url}${HANDSHAKE}&j=0`, {})
    assert.equal(status, 400)
    assert.doesNotMatch(body, /___eio/)
    const session = await rawPolling(url)
    assert.equal((await request(`${session.address}&j=0`, {}, 'POST')).status, 400)
  }
})

test('clients may use GET, POST and OPTIONS only; NOTIFY is for workers', async (t) => {
  const client = await connectClient(t, development.url)
  const { id: sid } = /** @type {any} */ (client.io.engine)
  for (const method of ['NOTIFY', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'PROPFIND']) {
    for (const query of ['', `&sid=${sid}`, `&sid=BB${sid.slice(2)}`])
      assert.equal((await request(development.url + HANDSHAKE + query, {}, method)).status, 405, method + query)
  }
  assert.equal(client.connected, true)
})
