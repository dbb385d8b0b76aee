import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'
import { connect } from 'inkcast/client'
import { memoryStore } from '../../../client/outbox/memory-store.js'
import { clientTime } from '../../helpers/client-time.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after }, { MAX_EVENTS_PER_SECOND: '10000' })
const fresh = () => `doc-${randomBytes(6).toString('hex')}`

/** @type {unknown[]} */
const uncaught = []
before(() => process.on('uncaughtException', (error) => uncaught.push(error)))
after(() => assert.deepEqual(uncaught, []))

/** @param {number} depth @returns {any} */
const nested = (depth) => { let value = {}; while (--depth > 0) value = { value }; return value }
const circular = () => { const value = /** @type {any} */ ({}); return Object.assign(value, { value }) }
const wide = () => {
  const value = /** @type {any} */ ({})
  return Object.assign(value, { a: [value, value], b: { value } })
}
const bytes = () => new Uint8Array([1, 2, 3])
const fail = () => { throw new Error('of the page') }

/**
 * Values by name, and the code of the call that hands them over: as a state, as data in JSON, as data in msgpack.
 * Undefined: the value can be sent.
 * @type {[string, any, string?, string?, string?][]}
 */
const VALUES = [
  ['BigInt', 1n, 'bad_value', 'bad_value', 'bad_value'],
  ['BigInt in an object', { n: 1n }, 'bad_value', 'bad_value', 'bad_value'],
  ['BigInt in a list', { list: [[1n]] }, 'bad_value', 'bad_value', 'bad_value'],
  ['circular', circular(), 'bad_value', 'bad_value', 'bad_value'],
  ['circular in several ways', wide(), 'bad_value', 'bad_value', 'bad_value'],
  ['toJSON that throws', { toJSON: fail }, 'bad_value', 'bad_value', 'bad_value'],
  ['toJSON that throws, in an object', { at: { toJSON: fail } }, 'bad_value', 'bad_value', 'bad_value'],
  ['toJSON that returns a BigInt', { toJSON: () => 1n }, 'bad_value', 'bad_value', 'bad_value'],
  ['getter that throws', { get line () { return fail() } }, 'bad_value', 'bad_value', 'bad_value'],
  ['Proxy that throws', new Proxy({ a: 1 }, { ownKeys: fail }), 'bad_value', 'bad_value', 'bad_value'],
  ['100,000 levels', nested(100_000), 'bad_value', 'bad_value', 'bad_value'],
  ['300 levels', nested(300), undefined, 'bad_value'],
  ['256 levels', nested(256)],
  ['brackets in text', { text: '[{"\\'.repeat(300) }],
  ['symbol in an object', { state: 1, more: Symbol('s') }],
  ['function in an object', { state: 1, more: () => {} }],
  ['bytes', bytes(), 'bad_request'],
  ['ArrayBuffer', new ArrayBuffer(3), 'bad_request'],
  ['DataView', { view: new DataView(new ArrayBuffer(3)) }, 'bad_request'],
  ['Buffer', { deep: [{ of: Buffer.from('x') }] }, 'bad_request'],
  ['10 byte fields', Array.from({ length: 10 }, bytes), 'bad_request'],
  ['11 byte fields', Array.from({ length: 11 }, bytes), 'bad_request', 'bad_value'],
  ['11 byte fields in an object', { a: Array.from({ length: 6 }, bytes), b: { c: Array.from({ length: 5 }, bytes) } },
    'bad_request', 'bad_value'],
  ['forged placeholder', { bytes: bytes(), forged: { _placeholder: true, num: 5 } }, 'bad_request', 'bad_value'],
  ['forged placeholder of the bytes', { forged: { _placeholder: true, num: 0 }, bytes: bytes() }, 'bad_request', 'bad_value'],
  ['forged placeholder, not the first field', { bytes: bytes(), forged: { num: 0, _placeholder: true } }, 'bad_request', 'bad_value'],
  ['text like a placeholder beside bytes', { bytes: bytes(), text: ',"_placeholder":true' }, 'bad_request'],
  ['placeholder without bytes', { forged: { _placeholder: true, num: 5 } }],
  ['Blob', [new Blob(['x'])], 'bad_request', 'bad_value', 'bad_value'],
  ['null', null, 'bad_request'],
  ['number', 5, 'bad_request'],
  ['text', 'red', 'bad_request'],
  ['boolean', true, 'bad_request'],
  ['list', [{ a: 1 }], 'bad_request'],
  ['Date', new Date(0), 'bad_request'],
  ['toJSON that returns no object', { toJSON: () => 5 }, 'bad_request'],
  ['object', { line: 2, list: [1, null, 'x'], more: { of: true } }]
]

const CODECS = { JSON: {}, msgpack: { parser: msgpackParser } }
let cases = 0

/**
 * @param {() => unknown} call
 * @param {string | undefined} code of the error that it must throw or reject with, without a connection too
 * @param {string} name
 */
async function expect (call, code, name) {
  cases++
  let settled = /** @type {any} */ (undefined)
  const outcome = (async () => call())()
    .then(() => { settled = { code: undefined } }, (error) => { settled = error })
  if (code === undefined) return outcome
  await waitFor(() => settled !== undefined, { message: () => `${name} has no error` })
  assert.equal(settled.code, code, `${name}: ${settled.stack}`)
  assert.equal(settled.name, 'ClientError')
  assert.equal(settled.retryable, false)
}

/** @param {import('node:test').TestContext} t @param {object} options */
function clientWithoutConnection (t, options) {
  /** @type {(value?: any) => void} */
  let release = () => {}
  const released = new Promise((resolve) => { release = resolve })
  const token = () => released.then(() => /** @type {any} */ (null))
  return Object.assign(startClient(t, server.url, { ...options, token }), { release })
}

for (const [codec, options] of Object.entries(CODECS)) {
  const dataCode = (/** @type {typeof VALUES[0]} */ value) => codec === 'JSON' ? value[3] : value[4]

  describe(`a value that cannot be sent, ${codec}`, () => {
    for (const connected of [false, true]) {
      test(`is refused where the page hands it over, ${connected ? 'with' : 'without'} a connection, and no more`, async (t) => {
        clientTime(t)
        const store = memoryStore()
        const client = clientWithoutConnection(t, { ...options, outbox: { user: 'ada', store } })
        if (connected) client.release()
        const guid = fresh()
        const other = client.open(fresh())
        const doc = await client.open(guid, { state: { line: 1 }, offline: true, echo: true })
        if (connected) await doc.ready
        /** @type {unknown[]} */
        const dropped = []
        doc.on('doc:dropped', (edit) => { dropped.push(edit) })
        const sent = []
        for (const value of VALUES) {
          const [name, given, state] = value
          const data = dataCode(value)
          // the msgpack encoder is loaded with the first connection
          if (name === 'Blob' && codec === 'msgpack' && !connected) continue
          if (state !== undefined) {
            await expect(() => client.open(fresh(), { state: given }), state, `open, ${name}`)
            await expect(() => client.open(guid, { state: given, offline: true }), state, `second open, ${name}`)
            await expect(() => doc.setState(given), state, `setState, ${name}`)
          }
          sent.push(expect(() => doc.send(given), data, `send, ${name}`))
          if (data !== undefined) {
            await expect(() => doc.signal('cursor', given), data, `signal, ${name}`)
            await expect(() => doc.send(given, { queue: true }), data, `queue, ${name}`)
          }
        }
        client.release()
        await other
        await doc.ready
        await Promise.all(sent)
        assert.deepEqual(client.states.map(([state]) => state), ['connected'])
        await waitFor(() => doc.presence.size === 1)
        assert.deepEqual([...doc.presence.values()][0].state, { line: 1 })
        assert.deepEqual([doc.pending, dropped], [[], []])
        await doc.send({ last: true }, { queue: true })
      })
    }

    test('is refused as a position, and the document can be opened', async (t) => {
      const client = clientWithoutConnection(t, options)
      const good = client.open(fresh(), { position: { epoch: 'e', offset: 5 } })
      const strange = [
        1n, 'x', '5', true, [], {}, -1, 1.5, 2 ** 53, NaN, Infinity, null, undefined, () => {}, Symbol('s'), bytes(), new Date(0)
      ]
      for (const value of strange) {
        const name = String(value)
        const guid = fresh()
        if (value !== null && value !== undefined)
          await expect(() => client.open(guid, { position: /** @type {any} */ (value) }), 'bad_request', `position ${name}`)
        if (typeof value !== 'string')
          await expect(
            () => client.open(guid, { position: /** @type {any} */ ({ epoch: value, offset: 5 }) }), 'bad_request', `epoch ${name}`
          )
        await expect(
          () => client.open(guid, { position: /** @type {any} */ ({ epoch: 'e', offset: value }) }), 'bad_request', `offset ${name}`
        )
        await expect(() => { client.user.position = /** @type {any} */ ({ epoch: 'e', offset: value }) }, 'bad_request', `user ${name}`)
      }
      await expect(() => client.open(fresh(), { position: { epoch: 'x'.repeat(65), offset: 5 } }), 'bad_request', 'long epoch')
      client.user.position = { epoch: 'e', offset: 7 }
      const given = /** @type {any} */ (client.user.position)
      given.offset = 1n
      assert.deepEqual(client.user.position, { epoch: 'e', offset: 7 })
      client.release()
      await good
      await client.reaches('connected')
      await waitFor(() => client.user.position?.epoch !== 'e', { message: () => client.user.position })
    })

    test('that the page changes later does not reach a handshake', async (t) => {
      const client = clientWithoutConnection(t, options)
      const state = /** @type {any} */ ({ line: 1 })
      const position = /** @type {any} */ ({ epoch: 'e', offset: 5, more: 1n })
      const opened = client.open(fresh(), { state, position })
      const later = await client.open(fresh(), { offline: true })
      const more = /** @type {any} */ ({ line: 2 })
      const set = later.setState(more)
      await waitFor(() => later.presence !== undefined)
      await new Promise((resolve) => setImmediate(resolve))
      state.n = more.n = position.offset = 1n
      client.release()
      const doc = await opened
      await set
      await waitFor(() => doc.presence.size === 1 && later.presence.size === 1)
      assert.deepEqual([doc, later].map(({ presence }) => [...presence.values()][0].state), [{ line: 1 }, { line: 2 }])
    })

    test('as a token is a failure of the token function, which is called again', async (t) => {
      const strange = [1n, 5, true, {}, [], () => {}, Symbol('s'), bytes(), circular(), 'x'.repeat(16_385), '\u0000'.repeat(5000)]
      for (const value of strange) {
        cases += 2
        const token = /** @type {any} */ (value)
        if (typeof value !== 'function')
          assert.throws(() => connect(server.url, { ...options, token }), { name: 'ClientError', code: 'bad_request' })
        let calls = 0
        const client = startClient(t, server.url, {
          ...options, token: () => (++calls === 1 ? token : undefined)
        })
        await waitFor(() => client.reason !== null)
        assert.deepEqual([client.reason?.code, client.state], ['token_unavailable', 'connecting'])
        client.connect()
        await client.ready
      }
    })

    test('as the id of the client is refused by connect', () => {
      for (const id of [1n, 5, true, {}, [], '', 'a\nb', 'x'.repeat(257), 'ü'.repeat(129), () => {}, Symbol('s'), bytes()]) {
        cases++
        assert.throws(() => connect(server.url, { ...options, id: /** @type {any} */ (id) }), { name: 'ClientError', code: 'bad_request' })
      }
    })

    test('as a guid is refused by open', async (t) => {
      const client = clientWithoutConnection(t, options)
      for (const guid of [1n, 5, true, {}, [], '', 'a\nb', 'x'.repeat(257), () => {}, Symbol('s'), null, undefined])
        await expect(() => client.open(/** @type {any} */ (guid)), 'bad_request', typeof guid)
    })
  })
}

test('states with more values than a handshake may have are joined after it', async (t) => {
  clientTime(t)
  const state = { list: Array(600).fill([]) }
  for (const options of Object.values(CODECS)) {
    const client = clientWithoutConnection(t, options)
    const opened = Promise.all(Array.from({ length: 12 }, () => client.open(fresh(), { state })))
    client.release()
    await opened
    assert.deepEqual(client.states, [['connected', undefined]])
  }
})

test('a state that only the gateway can refuse, set before the first connection, goes back to the one of open', async (t) => {
  const client = clientWithoutConnection(t, {})
  const doc = await client.open(fresh(), { state: /** @type {object} */ ({ line: 1 }), offline: true })
  const tooLarge = doc.setState({ text: 'x'.repeat(20_000) })
  const refused = assert.rejects(tooLarge, { code: 'state_too_large' })
  client.release()
  await refused
  await doc.ready
  await waitFor(() => doc.presence.size === 1)
  assert.deepEqual([...doc.presence.values()][0].state, { line: 1 })
})

test('every field was tried with every value', (t) => {
  t.diagnostic(`${cases} cases`)
  assert.ok(cases > 700)
})
