import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Callers } from '../../../src/services/api/callers/callers.js'
import { createRedisRequests } from '../../../src/services/api/idempotency/redis-requests.js'
import { createPublish } from '../../../src/services/api/publish.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { checkPublication } from '../../../src/wire/publication.js'
import { createAnswers } from '../../../src/services/webhook/answers.js'
import { createDelivery } from '../../../src/services/webhook/delivery.js'
import { createRequest, WebhookError } from '../../../src/services/webhook/request.js'
import { createSigner } from '../../../src/services/webhook/signature.js'
import { callersFile } from '../../helpers/callers-file.js'
import { countedBy } from '../../helpers/counted.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { storeRedis } from '../../helpers/store-redis.js'

const SIGNAL = new AbortController().signal
const URL = 'https://service.example/events'

/**
 * The answers of a service with narrowed rights.
 * @param {import('node:test').TestContext} t
 * @param {object} [rights]
 */
async function start (t, rights = { operators: ['broadcast'], guids: ['notes/*'] }) {
  const { log, lines } = recordingLog()
  /** @type {number[]} */
  const slept = []
  const clock = manualClock()
  clock.sleep = async (ms) => {
    slept.push(ms)
    clock.advance(ms)
  }
  const metrics = createMetrics({ processMetrics: false })
  const { path } = callersFile(t, { callers: [{ name: 'webhook', ...rights }] })
  const callers = new Callers({
    settings: { tokens: [], callersFile: path }, production: false, log, metrics, clock, random: systemRandom
  })
  await callers.start()
  t.after(() => callers.stop())
  lines.length = 0
  /** @type {import('../../../src/wire/publication.js').Publication[]} */
  const published = []
  /** @type {{ before: (publication: import('../../../src/wire/publication.js').Publication) => void }} */
  const sink = { before: () => {} }
  const answers = createAnswers({
    ...callers.forWebhook(async (publication) => {
      sink.before(publication)
      published.push(checkPublication(publication, { maxBytes: 1000 }))
      return { traceId: publication.traceId }
    }),
    log, metrics, clock, random: systemRandom
  })
  return {
    published, sink, lines, slept, answers, metrics, log, clock,
    results: () => countedBy(metrics.webhook_publications),
    /** @param {object | string} body */
    answer: (body) => answers('batch.1', { text: typeof body === 'string' ? body : JSON.stringify(body) }, SIGNAL)
  }
}

/**
 * Answers that are small in bytes and large in what decoding makes of them.
 * @type {Record<string, string>}
 */
const LARGE = {
  'empty lists': `{"publish":[${'[],'.repeat(700_000)}[]]}`,
  'empty objects': `{"publish":[${'{},'.repeat(700_000)}{}]}`,
  numbers: `{"publish":[${'1,'.repeat(1_000_000)}1]}`,
  'fields of one publication': `{"publish":[{${Array.from({ length: 200_000 }, (_, i) => `"${i}":1`).join()}}]}`,
  'fields of the answer': `{${Array.from({ length: 200_000 }, (_, i) => `"${i}":1`).join()},"publish":[]}`,
  'lists in lists': `{"publish":[{"guid":"notes/1","value":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}]}`,
  'objects in objects': `{"publish":[{"guid":"notes/1","value":${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}}]}`
}

for (const [kind, body] of Object.entries(LARGE)) {
  test(`an answer is counted before it is decoded: ${kind}`, async (t) => {
    const { answer, lines, published, results } = await start(t)
    await answer(body)
    assert.deepEqual(await results(), { [kind.includes(' in ') ? 'bad_value' : 'bad_request']: 1 })
    assert.match(lines[0].text, /at most (?:1000 publications|50 fields)|nested too deep/)
    assert.deepEqual([lines.length, published.length], [1, 0])
  })
}

/** Kinds of publications that are refused. @type {Record<string, unknown>} */
const REFUSED = {
  'not an object': 7,
  'an unknown field': { evnt: 'x' },
  'no right to the document': { guid: 'minutes', value: 1 },
  'no right to the operator': { operator: 'everyone', guid: 'notes/1', value: 1 },
  'a reserved event': { guid: 'notes/1', event: 'doc:join', value: 1 },
  'no value': { guid: 'notes/1' }
}

for (const [kind, one] of Object.entries(REFUSED)) {
  test(`refused publications are one line of the log without a stack, and charged: ${kind}`, async (t) => {
    const { answer, lines, published, slept } = await start(t, {
      operators: ['broadcast'], guids: ['notes/*'], rate: { perSecond: 100, burst: 200 }
    })
    await answer({ publish: Array.from({ length: 200 }, () => one) })
    assert.equal(published.length, 0)
    assert.equal(lines.length, 1, JSON.stringify(lines))
    assert.doesNotMatch(lines[0].text, /\n\s+at /)
    assert.deepEqual(slept, [])
    // the rate is used up
    await answer({ publish: [{ guid: 'notes/1', value: 1 }] })
    assert.equal(published.length, 1)
    assert.notEqual(slept.length, 0)
  })
}

test('a publication may have a key of 255 characters', async (t) => {
  const { published, results, answer } = await start(t)
  const keys = [247, 248, 249, 255].map((length) => 'k'.repeat(length))
  for (const key of [...keys, keys[3]]) await answer({ publish: [{ guid: 'notes/a', value: 1, idempotencyKey: key }] })
  const stored = published.map(({ idempotencyKey }) => idempotencyKey)
  assert.equal(new Set(stored).size, 4)
  assert.deepEqual([stored[0], stored[1], stored[3]], [`webhook:${keys[0]}`, `webhook:${keys[1]}`, stored[4]])
  assert.deepEqual(await results(), { ok: 5 })
})

test('after too many refusals the next answer waits', async (t) => {
  const { answer, slept, published } = await start(t)
  for (let i = 0; i < 3; i++) await answer({ publish: Array.from({ length: 1000 }, () => ({ guid: 'minutes', value: 1 })) })
  await answer({ publish: [{ guid: 'notes/1', value: 1 }] })
  assert.equal(published.length, 1)
  assert.ok(slept.length > 0 && slept.every((ms) => ms <= 2000), slept.join())
})

test('a publication that fails by a defect is tried five times, and then refused: the next one is published', async (t) => {
  const { answer, lines, published, results, slept, sink } = await start(t)
  let tries = 0
  sink.before = ({ guid }) => {
    if (guid === 'notes/1') throw tries++ % 2 === 0 ? new Error('defect') : new InkcastError('internal')
  }
  await answer({ publish: [{ guid: 'notes/1', value: 1 }, { guid: 'notes/2', value: 2 }] })
  assert.deepEqual([tries, slept.length, published.map(({ guid }) => guid)], [5, 4, ['notes/2']])
  assert.deepEqual(await results(), { retry: 4, internal: 1, ok: 1 })
  assert.deepEqual(lines.map(({ level }) => level), ['warn', 'error'])
})

test('a publication that fails for now is tried until it succeeds, with one line a minute, however many were defects', async (t) => {
  const { answer, lines, published, results, sink } = await start(t)
  let tries = 0
  sink.before = () => {
    if (++tries < 40) throw new InkcastError(tries === 20 ? 'internal' : 'unavailable', `try ${tries}`)
  }
  await answer({ publish: [{ guid: 'notes/1', value: 1 }] })
  assert.equal(published.length, 1)
  assert.deepEqual(await results(), { retry: 39, ok: 1 })
  const [first, ...others] = lines.filter(({ text }) => text.includes('unavailable'))
  assert.equal(first.level, 'warn')
  assert.match(first.text, /try 1\b/)
  assert.ok(others.length >= 1 && others.length <= 4, `${others.length} more lines in 2 to 3 minutes`)
})

test('an answer that is no JSON object is noted once, and an empty one never', async (t) => {
  const { answer, lines, results } = await start(t)
  for (const body of ['', ' \n']) await answer(body)
  assert.equal(lines.length, 0)
  for (const body of ['OK', '<html>', '[1]', 'OK']) await answer(body)
  assert.deepEqual(lines.map(({ level }) => level), ['info'])
  assert.match(lines[0].text, /not a JSON object/)
  assert.deepEqual(await results(), {})
})

test('a mistake in the JSON of an answer is named with its place', async (t) => {
  const { answer, lines } = await start(t)
  await answer('{"publish":[{]}')
  assert.match(lines[0].text, /not valid JSON at character 13/)
})

/** @param {() => Response} respond */
const requestTo = (respond) =>
  createRequest({ url: URL, sign: createSigner([]), clock: manualClock(), request: async () => respond() })

test('the events of an accepted answer above 8 MB are accepted, and its publications refused', async (t) => {
  const { answers, metrics, log, clock, results, lines } = await start(t)
  let sent = 0
  const body = () => new ReadableStream({
    pull (controller) {
      if (++sent > 10_000) controller.close()
      else controller.enqueue(new Uint8Array(2 ** 20).fill(0x20))
    }
  })
  const delivery = createDelivery({
    request: requestTo(() => new Response(body(), { status: 200 })), answers, log, metrics, clock, random: systemRandom
  })
  const entry = /** @type {any} */ ({
    id: '1', source: '/inkcast/uplink/1', sequence: 1,
    record: { operator: 'message', guid: 'a', traceId: 't', timestamp: 1, contentType: 'application/json', value: Buffer.from('1') }
  })
  await delivery.deliver([entry], { signal: SIGNAL, onRefused: () => assert.fail('refused') })
  assert.deepEqual(await results(), { value_too_large: 1 })
  assert.deepEqual(await countedBy(metrics.webhook_events), { 'message ok': 1 })
  assert.match(lines[0].text, /the events are accepted/)
  assert.ok(sent < 20, `${sent} MB were read`)
})

for (const [status, location, message] of /** @type {[number, string | undefined, string][]} */ ([
  [401, undefined, 'HTTP 401: check UPLINK_SECRETS'],
  [403, undefined, 'HTTP 403'],
  [503, 'https://elsewhere.example/', 'HTTP 503'],
  ...[301, 302, 303, 307, 308].map((status) => [
    status, 'https://user:secret@elsewhere.example/events?key=secret',
    `HTTP ${status}: redirects are not followed (location: https://elsewhere.example/events)`
  ]),
  [308, '/other', 'HTTP 308: redirects are not followed (location: https://service.example/other)'],
  [308, 'https://[', 'HTTP 308: redirects are not followed'],
  [308, undefined, 'HTTP 308: redirects are not followed']
])) {
  test(`an answer with ${status} ${location ?? ''} says what to do`, async () => {
    const respond = () => new Response(null, { status, headers: location === undefined ? {} : { location } })
    await assert.rejects(requestTo(respond)('1', Buffer.from('[]'), SIGNAL), (error) => {
      assert.ok(error instanceof WebhookError)
      assert.deepEqual([error.message, error.status], [message, status])
      return true
    })
  })
}

/**
 * Several processes with the answers of one service, and a log that knows its keys.
 * @param {import('node:test').TestContext} t
 */
async function startProcesses (t) {
  const { redis } = await storeRedis(t)
  const { log } = recordingLog()
  const clock = manualClock()
  const callers = new Callers({
    settings: { tokens: [] }, production: false, metrics: createMetrics({ processMetrics: false }),
    log, clock, random: systemRandom
  })
  /** @type {Map<string, string>} values by key */
  const inLog = new Map()
  return {
    inLog,
    /** @param {string} [code] of the error that each publication gets */
    startProcess (code) {
      const metrics = createMetrics({ processMetrics: false })
      const requests = createRedisRequests({ redis, clock, random: systemRandom })
      /** @type {() => void} */
      let begin
      const begun = new Promise((/** @type {(value: void) => void} */ resolve) => { begin = resolve })
      const publish = createPublish({
        limits: { maxRecordBytes: 1000 },
        requests,
        async sink ([{ idempotencyKey = '', value }]) {
          begin()
          if (code !== undefined) throw new InkcastError(/** @type {any} */ (code))
          const duplicate = inLog.has(idempotencyKey)
          if (!duplicate) inLog.set(idempotencyKey, value.toString())
          return [{ duplicate }]
        }
      })
      const answers = createAnswers({ ...callers.forWebhook(publish), log, metrics, clock, random: systemRandom })
      const ended = new AbortController()
      return {
        begun,
        results: () => countedBy(metrics.webhook_publications),
        end: () => ended.abort(new Error('the process ends')),
        /** @param {number} value */
        answer: (value) =>
          answers('batch.1', { text: JSON.stringify({ publish: [{ guid: 'notes/1', value }] }) }, ended.signal)
      }
    }
  }
}

test('a publication that failed is published by the next process, also if the service answers another value', async (t) => {
  const { startProcess, inLog } = await startProcesses(t)
  const first = startProcess('unavailable')
  const answer = first.answer(1)
  await first.begun
  first.end()
  await assert.rejects(answer, /the process ends/)
  const second = startProcess()
  await second.answer(2)
  assert.deepEqual([[...inLog.values()], await second.results()], [['2'], { ok: 1 }])
})

test('a publication of an earlier try is not published again with another value, and this is said', async (t) => {
  const { startProcess, inLog } = await startProcesses(t)
  await startProcess().answer(1)
  const second = startProcess()
  await second.answer(1)
  await second.answer(2)
  assert.deepEqual([[...inLog.values()], await second.results()], [['1'], { ok: 1, idempotency_mismatch: 1 }])
})
