import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect, isDeepStrictEqual } from 'node:util'
import { entry } from '../../contract/bus-fixture.js'
import { certificate } from '../../helpers/balancer.js'
import { BREAKS, breakSendFrame } from '../../helpers/broken-hooks.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { loadConfig } from '../../../src/config/load.js'
import { testHooks } from '../../../src/rehearsal/self-test.js'
import { openSandbox } from '../../../src/rehearsal/sandbox.js'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'

const PRODUCTION = {
  NODE_ENV: 'production',
  AUTH_JWT_SECRET: 'x'.repeat(40),
  API_TOKENS: 'name:0123456789abcdef',
  ALLOWED_ORIGINS: 'https://example.com'
}
const SMALL = {
  MAX_WAITING_BYTES: '1024',
  MAX_DOCUMENTS_PER_CONNECTION: '1',
  HISTORY_SIZE: '1'
}
const TLS = { TLS_FILES: `cert:${certificate.certFile},key:${certificate.keyFile}` }

/** @param {Record<string, string>} [env] */
async function runSelfTest (env = {}) {
  const { log, lines } = recordingLog()
  return { ok: await testHooks({ config: loadConfig({ env }), log }), lines }
}

describe('the self-test of private hooks', () => {
  for (const [name, env] of Object.entries({
    'with defaults': {},
    'in production': PRODUCTION,
    'with TLS': { ...PRODUCTION, ...TLS },
    'with small limits': SMALL
  })) {
    test(`finds no error ${name}, and leaves nothing behind`, async () => {
      assert.deepEqual(await runSelfTest(env), { ok: true, lines: [] })
      await waitFor(() => !process.getActiveResourcesInfo().some((name) => /TCP|TLS|Immediate/.test(name)), {
        message: () => process.getActiveResourcesInfo()
      })
    })
  }

  for (const [name, breakHook] of Object.entries(BREAKS)) {
    test(`detects that ${name}, and logs it once`, async () => {
      const mend = breakHook()
      try {
        const { ok, lines } = await runSelfTest()
        assert.equal(ok, false)
        assert.deepEqual(lines.map(({ level }) => level), ['warn'])
        assert.match(
          lines[0].text,
          /^self-test failed \(a JSON client: .+\): deliveries and heartbeats take the slower paths of Socket\.IO itself$/
        )
      } finally {
        mend()
      }
      assert.deepEqual(await runSelfTest(), { ok: true, lines: [] })
    })
  }

  test('admits no other client', async (t) => {
    const sandbox = await openSandbox(loadConfig({ env: {} }))
    t.after(() => sandbox.close())
    const client = await sandbox.connect('json')
    client.send({ type: 0, data: { token: 'guessed' } })
    await client.until(() => client.received.length === 2, 'an answer')
    assert.deepEqual(client.received[1].data, {
      message: 'a valid token is needed',
      data: { code: 'unauthorized', retryable: false }
    })
    assert.equal(sandbox.gateway.connections, 0)
  })
})

describe('without private hooks', () => {
  test('every client gets the same events, and bytes, in the same order', async (t) => {
    const fast = await deliverToAll(t)
    assert.deepEqual(fast.warnings, [])
    t.after(breakSendFrame())
    const plain = await deliverToAll(t)
    assert.deepEqual(plain.warnings.length, 1)
    same(plain.events, fast.events)
    same(plain.bytes, fast.bytes)
    for (const [kind, events] of Object.entries(plain.events)) assert.equal(events.length, RECORDS.length + 100, kind)
    for (const [kind, messages] of Object.entries(plain.bytes)) assert.ok(messages.length > 100, kind)
  })
})

const RECORDS = [
  { text: 'Grüße, 世界, \u2028 " \\' },
  1.5,
  null,
  'x'.repeat(70_000),
  Buffer.from('{ "a" :\t1.0 }'),
  ...[
    { bytes: Buffer.from([0, 30, 255]) },
    [Buffer.alloc(0), { b: Buffer.from('ü') }],
    Array(11).fill(Buffer.from('eleven'))
  ].map((value) => encodeMsgpack(value))
]

/** @param {number} i */
const traced = (i) => entry('doc', i, { traceId: `trace-${i}` })

/**
 * Delivers the same records to clients of every kind, and returns the results.
 * @param {import('node:test').TestContext} t
 */
async function deliverToAll (t) {
  const { log, lines } = recordingLog()
  const server = await startEmbedded(t, { API_TOKENS: 'name:0123456789abcdef' }, log)
  /** @type {Record<string, Awaited<ReturnType<typeof connectClient>>>} */
  const clients = {}
  for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
    for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
      const client = (clients[`${codec} ${transports.join()}`] = await connectClient(t, server.url, {
        codec,
        transports
      }))
      if (transports.length > 1)
        await waitFor(() => client.io.engine.transport.name === 'websocket', { message: 'the upgrade' })
      assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
    }
  }
  const raw = await rawWebSocket(t, server.url)
  await raw.connect({ documents: { doc: null } })
  await raw.text(/doc:joined/)
  const polling = await rawPolling(server.url)
  await polling.connect()
  await polling.post('420["doc:join",{"guid":"doc"}]')
  assert.ok(await polling.until(/430\[\{"ok":true/))

  for (const [i, value] of RECORDS.entries()) {
    const isJson = Buffer.isBuffer(value) && value[0] === 0x7b
    const headers = {
      authorization: 'Bearer 0123456789abcdef',
      'x-timestamp': '1700000000000',
      'x-trace-id': `trace-${i}`,
      'x-event': 'edit',
      ...(isJson ? { 'content-type': 'application/json' } : {})
    }
    assert.equal((await server.post('/v1/documents/doc/broadcast', value, headers)).status, 202)
  }
  // many records in one turn, with a packet of Socket.IO among them
  server.gateway.bus.publish(Array.from({ length: 50 }, (_, i) => traced(i)))
  setImmediate(() => server.gateway.io.emit('own', { bytes: Buffer.from('own') }, {}))
  await waitFor(() => Object.values(clients).every(({ received }) => received.length >= RECORDS.length + 51), {
    message: 'the records before and after a packet of Socket.IO\'s own'
  })
  server.gateway.bus.publish(Array.from({ length: 49 }, (_, i) => traced(50 + i)))
  const complete = () =>
    Object.values(clients).every(({ received }) => received.length === RECORDS.length + 100) &&
    raw.received.some((data) => String(data).includes(',98,{'))
  await waitFor(complete, {
    message: () => Object.entries(clients).map(([kind, { received }]) => `${kind} ${received.length}`)
  })
  let polled = ''
  for (let polls = 0; polls < 20 && !polled.includes(',98,{'); polls++) polled += `${(await polling.poll()).text}\u001e`
  assert.match(polled, /,98,\{/)
  await polling.leave()
  for (const client of Object.values(clients)) client.disconnect()
  await waitFor(() => server.gateway.connections === 1, { message: 'the end of all but the raw WebSocket' })
  return {
    warnings: lines.filter(({ level }) => level === 'warn').map(({ text }) => text),
    events: Object.fromEntries(Object.entries(clients).map(([kind, { received }]) => [kind, received])),
    bytes: {
      websocket: from(raw.received.map((data) => (typeof data === 'string' ? data : data.toString('base64')))),
      polling: from(polled.split('\u001e'))
    }
  }
}

/**
 * Without assert.deepEqual, which would take minutes to show the difference of values this long.
 * @param {Record<string, unknown[]>} a
 * @param {Record<string, unknown[]>} b
 */
function same (a, b) {
  for (const [kind, list] of Object.entries(a)) {
    for (const [i, one] of list.entries())
      assert.ok(
        isDeepStrictEqual(one, b[kind][i]),
        [kind, i, one, b[kind][i]].map((value) => inspect(value).slice(0, 200)).join()
      )
  }
}

/** Messages from the first record on. @param {string[]} messages */
const from = (messages) =>
  messages.slice(messages.findIndex((text) => text.includes('trace-0'))).filter((text) => text !== '2' && text !== '')
