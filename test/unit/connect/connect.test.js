import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { ConnectService } from '../../../src/services/connect/connect.js'
import { countedBy } from '../../helpers/counted.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { SECRET } from '../../helpers/webhook-service.js'

/** @typedef {import('../../../src/people/auth/credentials.js').Asked} Asked */

const ok = (/** @type {unknown} */ body, status = 200) => new Response(JSON.stringify(body), { status })
const hangs = () => new Promise(() => {})

/** @param {string} cookie @param {Partial<Asked>} [more] @returns {Asked} */
const client = (cookie, more = {}) => ({ headers: { cookie, origin: 'https://app.example.com' }, address: '203.0.113.7', auth: {}, ...more })

/**
 * @param {(question: any) => Response | Promise<any>} answer of the application
 * @param {string[]} [headers]
 */
function setUp (answer, headers = ['cookie', 'authorization']) {
  const clock = manualClock()
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  /** @type {{ url: string, options: any }[]} */
  const requests = []
  const service = new ConnectService({
    url: 'https://app.example.com/connect?key=hidden', headers, secrets: [SECRET],
    orderTime: () => clock.now() + 7, log, metrics, clock, random: systemRandom,
    request: /** @type {any} */ (async (/** @type {string} */ url, /** @type {any} */ options) => {
      requests.push({ url, options })
      const aborted = new Promise((_, reject) => {
        options.signal.addEventListener('abort', () => reject(options.signal.reason))
      })
      return Promise.race([answer(JSON.parse(String(options.body))), aborted])
    })
  })
  /** @param {Asked} asked @returns {Promise<any>} the identity, or the error */
  const ask = async (asked, isWanted = () => true) => {
    try {
      return await service.ask(asked, isWanted)
    } catch (error) {
      return error
    }
  }
  const questions = () => requests.map(({ options }) => JSON.parse(String(options.body)))
  return { service, ask, clock, metrics, requests, lines, questions }
}

describe('a question to the application', () => {
  test('has the named headers, origin, address and auth, and the signature of a webhook', async () => {
    const { ask, requests, questions, clock } = setUp(() => ok({ uid: 'ada' }), ['cookie', 'x-team', 'constructor'])
    await ask({
      headers: { cookie: 'sid="a\\"b"\r\nx-admin: 1', 'x-team': 'core', authorization: 'Bearer x', origin: 'https://app.example.com' },
      address: '2001:db8::7',
      auth: { token: 't', documents: { plan: null }, client: 'c', user: {}, device: 'phone' }
    })
    assert.deepEqual(questions(), [{
      headers: { cookie: 'sid="a\\"b"\r\nx-admin: 1', 'x-team': 'core' },
      origin: 'https://app.example.com',
      address: '2001:db8::7',
      auth: { token: 't', device: 'phone' }
    }])
    const [{ options: { headers, redirect, body } }] = requests
    assert.deepEqual([headers['content-type'], redirect], ['application/json', 'manual'])
    assert.deepEqual(Object.keys(headers), ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature'])
    const signed = `${headers['webhook-id']}.${Math.floor(clock.now() / 1000)}.${body}`
    const key = Buffer.from(SECRET.slice(6), 'base64')
    assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  })

  test('makes an identity with the grants of a token, as old as the question', async () => {
    const { ask, clock } = setUp(() => ok({
      uid: 'ada', name: 'Ada', documents: [{ guid: 'plan/*', access: 'write' }], data: { plan: 'pro' }, expiresAt: null, refreshInMs: null
    }))
    assert.deepEqual(await ask(client('a')), {
      uid: 'ada', name: 'Ada', grants: [{ guid: 'plan/*', access: 'write' }], data: { plan: 'pro' },
      issuedAt: (clock.now() + 7) / 1000, expiresAt: null, anonymous: false
    })
  })

  test('with an answer that no token may have is refused, and the field is named', async () => {
    /** @type {any} */
    let answer
    const { ask, metrics } = setUp(() => ok(answer))
    for (const [wrong, field] of /** @type {[any, string][]} */ ([
      [{}, 'uid'], [{ uid: 'anonymous:1' }, 'uid'], [{ uid: 7 }, 'uid'], [{ uid: 'a\nb' }, 'uid'],
      [{ uid: 'a', name: 'x'.repeat(257) }, 'name'], [{ uid: 'a', documents: [{ guid: 'x', access: 'admin' }] }, 'documents.0.access'],
      [{ uid: 'a', documents: Array(1001).fill({ guid: 'x', access: 'read' }) }, 'documents'],
      [{ uid: 'a', data: 'x'.repeat(4096) }, 'data'], [{ uid: 'a', expiresAt: '2030' }, 'expiresAt'],
      [{ uid: 'a', refreshInMs: -1 }, 'refreshInMs']
    ])) {
      answer = wrong
      const { code, message } = await ask(client('a'))
      assert.equal(code, 'unauthorized', field)
      assert.match(message, new RegExp(`the answer of the application, ${field}: `))
    }
    assert.deepEqual(await countedBy(metrics.connect_requests), { invalid: 10 })
    answer = { uid: 'a', expiresAt: 1 }
    assert.equal((await ask(client('a'))).code, 'token_expired')
  })

  test('is refused with the code of the application, or of the table', async () => {
    /** @type {any} */
    let answer
    const { ask } = setUp(() => answer())
    for (const [status, body, code, refusal, retryable] of /** @type {any[]} */ ([
      [403, { code: 'payment_required', message: 'Pay first' }, 'forbidden', 'payment_required', false],
      [401, { code: 'token_expired' }, 'token_expired', undefined, false],
      [401, { code: 'rate_limited' }, 'rate_limited', undefined, true],
      // a page of a proxy, and answers that no refusal is
      [403, 'Forbidden', 'unavailable', undefined, true], [401, {}, 'unavailable', undefined, true],
      [403, { code: 'a b' }, 'unavailable', undefined, true], [402, { code: 'x' }, 'unavailable', undefined, true],
      [401, { code: '__proto__' }, 'unavailable', undefined, true], [401, { code: 'constructor' }, 'forbidden', 'constructor', false]
    ])) {
      answer = () => ok(body, status)
      const error = await ask(client('a'))
      assert.deepEqual([error.code, error.refusal, error.retryable], [code, refusal, retryable], JSON.stringify(body))
    }
  })

  test('without a usable answer is unavailable, and nothing of it is in the log', async () => {
    /** @type {any} */
    let answer
    const { ask, metrics, lines, clock } = setUp(() => answer())
    const redirect = { status: 302, headers: { location: 'https://evil.example.com/?token=hidden' } }
    for (const [what, response] of /** @type {[string, () => any][]} */ ([
      ['garbage', () => new Response('<html>')], ['a list', () => ok([])], ['nothing', () => new Response(null, { status: 204 })],
      ['an error', () => ok({ uid: 'ada' }, 500)], ['too much', () => ok({ uid: 'ada', data: 'x'.repeat(600_000) })],
      ['a redirect', () => new Response(null, redirect)], ['a cut', () => Promise.reject(new TypeError('fetch failed'))]
    ])) {
      answer = response
      clock.advance(60_000)
      const { code, retryable } = await ask(client('cookie-hidden', { auth: { token: 'hidden' } }))
      assert.deepEqual([code, retryable], ['unavailable', true], what)
    }
    assert.deepEqual(await countedBy(metrics.connect_requests), { no_answer: 4, 204: 1, 302: 1, 500: 1 })
    assert.ok(lines.length >= 7)
    assert.doesNotMatch(JSON.stringify(lines), /hidden/)
  })

  test('is not asked with headers or auth that are too large, or that JSON does not have', async () => {
    const { ask, requests } = setUp(() => ok({ uid: 'ada' }))
    for (const asked of [client('x'.repeat(16_384)), client('a', { auth: { more: 'x'.repeat(16_384) } }), client('a', { auth: { n: 1n } })])
      assert.equal((await ask(asked)).code, 'bad_request')
    assert.equal(requests.length, 0)
  })

  test('that gets no answer ends after 4 s', async () => {
    const { ask, clock, metrics } = setUp(hangs)
    const answer = ask(client('a'))
    await clock.pass(3999)
    assert.deepEqual(await countedBy(metrics.connect_requests), {})
    await clock.pass(1)
    assert.equal((await answer).code, 'unavailable')
  })
})

describe('answers of the application', () => {
  test('are kept as long as it asks, and no longer than they hold', async () => {
    let number = 0
    const clockNow = () => set.clock.now()
    /** @type {any} */
    let more = {}
    const set = setUp(() => ok({ uid: `u${++number}`, ...more }))
    const uid = async () => (await set.ask(client('a'))).uid
    assert.deepEqual([await uid(), await uid()], ['u1', 'u2'], 'not at all unless it asks')
    more = { refreshInMs: 1000 }
    assert.deepEqual([await uid(), await uid()], ['u3', 'u3'])
    assert.equal(set.service.ask(client('a'), () => true) instanceof Promise, false)
    set.clock.advance(1000)
    assert.equal(await uid(), 'u4')
    set.clock.advance(1000)
    more = { refreshInMs: 10_000, expiresAt: clockNow() + 500 }
    assert.deepEqual([await uid(), await uid()], ['u5', 'u5'])
    set.clock.step(500)
    more = { refreshInMs: 1e9 }
    assert.deepEqual([await uid(), await uid()], ['u6', 'u6'], 'the wall clock was set forward')
    set.clock.advance(3_600_000)
    assert.equal(await uid(), 'u7', 'at most an hour')
  })

  test('are those of one client: users that share some headers have their own', async () => {
    const { ask, requests } = setUp(({ headers, auth, origin, address }) => ok({
      uid: [headers.cookie, headers.authorization, auth.token, origin, address].join('|'), refreshInMs: 60_000
    }))
    const all = [
      client('a'), client('b'), client('a', { address: '203.0.113.8' }), client('a', { auth: { token: 't' } }),
      client('a', { headers: { cookie: 'a' } }), client('', { headers: { authorization: 'a', origin: 'https://app.example.com' } }),
      client('a","authorization":"x'), client('a', { headers: { cookie: 'a', authorization: 'x', origin: 'https://app.example.com' } })
    ]
    const uids = []
    for (const one of [...all, ...all]) uids.push((await ask(one)).uid)
    assert.equal(new Set(uids).size, all.length)
    assert.deepEqual(uids.slice(all.length), uids.slice(0, all.length))
    assert.equal(requests.length, all.length)
  })

  test('are shared by clients that ask the same at a time, refusals are not kept', async () => {
    const { ask, requests, metrics } = setUp(() => ok({ code: 'closed' }, 403))
    const refusals = await Promise.all([ask(client('a')), ask(client('a')), ask(client('b'))])
    assert.deepEqual(refusals.map(({ refusal }) => refusal), ['closed', 'closed', 'closed'])
    await ask(client('a'))
    assert.equal(requests.length, 3)
    assert.deepEqual(await countedBy(metrics.connect_unasked), { shared: 1 })
  })
})

describe('a kick', () => {
  test('ends the answers to earlier questions, for each client of the user, and none to later ones', async () => {
    const { service, ask, clock, requests } = setUp(() => ok({ uid: 'ada', refreshInMs: 3_600_000 }))
    const [first, second] = [await ask(client('a')), await ask(client('b'))]
    clock.advance(1000)
    assert.equal(service.endedBy(first, 0), false, 'never kicked')
    const kickedAt = clock.now() + 7
    assert.equal(service.endedBy(first, kickedAt - 1001), false, 'kicked before the question')
    assert.equal(service.endedBy(first, kickedAt), true)
    assert.equal(service.endedBy(second, kickedAt), true)
    clock.advance(1000)
    for (const cookie of ['a', 'b', 'a', 'b']) assert.equal(service.endedBy(await ask(client(cookie)), kickedAt), false)
    assert.equal(requests.length, 4, 'each is asked about once more')
  })

  test('ends no answer to a question that is asked once it is known, wherever the clock of Redis is', async () => {
    const { service, ask, clock } = setUp(() => ok({ uid: 'ada' }))
    const kickedAt = clock.now() + 1e9
    assert.equal(service.endedBy(await ask(client('a')), kickedAt), true)
    clock.advance(1)
    assert.equal(service.endedBy(await ask(client('a')), kickedAt), false)
    clock.advance(1)
    assert.equal(service.endedBy(await ask(client('a')), kickedAt + 5), true, 'the next kick')
  })

  test('ends no JWT', () => {
    const { service } = setUp(() => ok({ uid: 'ada' }))
    const identity = { uid: 'ada', grants: null, issuedAt: 1, expiresAt: null, anonymous: false }
    assert.equal(service.endedBy(identity, 5000), false)
  })
})

describe('a storm of handshakes', () => {
  test('of 5,000 clients has 50 questions open at most, in order, and each ends', async () => {
    let open = 0
    let most = 0
    /** @type {(() => void)[]} */
    const waiting = []
    const { ask, requests, questions, clock } = setUp(async ({ headers }) => {
      most = Math.max(most, ++open)
      await new Promise((resolve) => { waiting.push(() => resolve(undefined)) })
      open--
      return ok({ uid: headers.cookie })
    })
    const answers = Promise.all(Array.from({ length: 5000 }, (_, i) => ask(client(`user-${i}`))))
    while (requests.length < 5000 || waiting.length > 0) {
      await clock.pass(0)
      for (const end of waiting.splice(0)) end()
    }
    assert.deepEqual((await answers).map(({ uid }) => uid), Array.from({ length: 5000 }, (_, i) => `user-${i}`))
    assert.deepEqual([most, requests.length], [50, 5000])
    assert.deepEqual(questions().map(({ headers }) => headers.cookie), Array.from({ length: 5000 }, (_, i) => `user-${i}`))
  })

  test('on an application that hangs is refused as retryable; known answers and new ones after it are given', async () => {
    let hanging = false
    const { service, ask, clock, requests, metrics } = setUp(({ headers }) =>
      hanging ? hangs() : ok({ uid: headers.cookie, refreshInMs: 60_000 }))
    await ask(client('known'))
    hanging = true
    const storm = Promise.all(Array.from({ length: 6000 }, (_, i) => ask(client(`user-${i}`))))
    await clock.pass(0)
    assert.equal(requests.length, 51)
    assert.deepEqual(await countedBy(metrics.connect_unasked), { refused: 950 }, 'the others wait')
    assert.equal(/** @type {any} */ (service.ask(client('known'), () => true)).uid, 'known')
    // the first failures give their turns to others
    await clock.pass(8000)
    const refused = await storm
    assert.deepEqual(new Set(refused.map(({ code, retryable }) => `${code} ${retryable}`)), new Set(['unavailable true']))
    assert.equal(requests.length, 60, 'nothing more is asked of an application that fails')
    assert.deepEqual(service.warnings(), [])
    await clock.pass(6001)
    assert.deepEqual(service.warnings(), ['the login (AUTH_CONNECT_URL) does not answer: no answer within 4 s'])
    hanging = false
    assert.equal((await ask(client('user-1'))).uid, 'user-1')
    assert.deepEqual(service.warnings(), [])
  })

  test('asks nothing about clients that have gone', async () => {
    /** @type {(() => void)[]} */
    const waiting = []
    const { ask, questions, clock } = setUp(async ({ headers }) => {
      await new Promise((resolve) => { waiting.push(() => resolve(undefined)) })
      return ok({ uid: headers.cookie })
    })
    const first = Array.from({ length: 50 }, (_, i) => ask(client(`user-${i}`)))
    const gone = ask(client('gone'), () => false)
    const here = ask(client('here'))
    await clock.pass(0)
    waiting[0]()
    await first[0]
    assert.equal((await gone).code, 'unavailable')
    await clock.pass(0)
    for (const answer of waiting.slice(1)) answer()
    assert.equal((await here).uid, 'here')
    await Promise.all(first)
    assert.ok(questions().every(({ headers }) => headers.cookie !== 'gone'))
  })
})

describe('the circuit', () => {
  test('opens after 10 failures, tries one question after a pause, and closes with its answer', async () => {
    let fails = true
    const { ask, requests, clock } = setUp(() => fails ? ok({}, 500) : ok({ uid: 'ada' }))
    for (let i = 0; i < 12; i++) assert.equal((await ask(client(`user-${i}`))).code, 'unavailable')
    assert.equal(requests.length, 10)
    await clock.pass(1000)
    assert.deepEqual((await Promise.all([ask(client('x')), ask(client('y'))])).map(({ code }) => code), ['unavailable', 'unavailable'])
    assert.equal(requests.length, 11, 'one question tries')
    for (let i = 0; i < 5; i++) {
      await clock.pass(5000)
      await ask(client('x'))
    }
    assert.equal(requests.length, 16, 'at least each 5 s')
    fails = false
    await clock.pass(5000)
    assert.equal((await ask(client('x'))).uid, 'ada')
    assert.deepEqual((await Promise.all([ask(client('x')), ask(client('y'))])).map(({ uid }) => uid), ['ada', 'ada'])
  })

  test('counts refusals and wrong fields as answers', async () => {
    const { ask, requests } = setUp(({ headers }) => headers.cookie === 'a' ? ok({ code: 'closed' }, 403) : ok({ uid: 1 }))
    for (let i = 0; i < 12; i++) await ask(client(i % 2 ? 'a' : 'b'))
    assert.equal(requests.length, 12)
  })

  test('the end of the process ends questions', async () => {
    const { service, ask, clock } = setUp(hangs)
    const all = Array.from({ length: 60 }, (_, i) => ask(client(`user-${i}`)))
    await clock.pass(0)
    service.stop()
    assert.deepEqual(new Set((await Promise.all(all)).map(({ code }) => code)), new Set(['draining']))
  })
})
