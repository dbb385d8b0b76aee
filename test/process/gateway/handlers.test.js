import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { MAX_EVENTS_PER_SECOND: '100000', MAX_RECORD_BYTES: '100000' })
const bus = watchBus(server)
const client = await connectClient(file, server.url)
const binary = await connectClient(file, server.url, { codec: 'msgpack' })
for (const one of [client, binary]) await one.ask('doc:join', { guid: 'doc' })

/** @param {string} event @param {...unknown} args @returns {Promise<string>} error code of the response, or `ok` */
async function codeOf (event, ...args) {
  const answer = await client.ask(event, ...args)
  assert.equal(typeof answer.ok, 'boolean')
  if (answer.ok) return 'ok'
  assert.deepEqual(Object.keys(answer), ['ok', 'error'])
  assert.deepEqual(Object.keys(answer.error), ['code', 'message', 'retryable'])
  return answer.error.code
}

const WRONG = [undefined, null, 0, -1, 1.5, true, '', 'text', [], ['doc'], {}, { guid: 'doc' }, [[{ guid: 'doc' }]]]
/** @type {Record<string, Record<string, unknown>>} valid arguments, by event */
const RIGHT = {
  'doc:join': { guid: 'doc', position: { epoch: 'e', offset: 0 }, state: {} },
  'doc:leave': { guid: 'doc' },
  'doc:send': { guid: 'doc', event: 'edit', data: 1 },
  'doc:signal': { guid: 'doc', event: 'cursor', data: 1 },
  'doc:history': { guid: 'doc', before: 5, limit: 10 },
  'auth:refresh': { token: 'x' }
}

describe('every event of a client', () => {
  test('requires one object', async () => {
    for (const event of Object.keys(RIGHT)) {
      for (const wrong of [null, 0, true, '', 'text', [], [RIGHT[event]], {}])
        assert.equal(await codeOf(event, wrong), 'bad_request', `${event} ${JSON.stringify(wrong)}`)
      assert.equal(await codeOf(event), 'bad_request')
      assert.equal(await codeOf(event, RIGHT[event], {}), 'bad_request')
      assert.equal(await codeOf(event, {}, RIGHT[event]), 'bad_request')
    }
  })

  test('requires fields of the right types, and no others', async () => {
    for (const [event, right] of Object.entries(RIGHT)) {
      assert.equal(await codeOf(event, { ...right, other: 1 }), 'bad_request', `${event} with one too many`)
      for (const field of Object.keys(right)) {
        if (field === 'data') continue
        const isRight = (/** @type {unknown} */ value) =>
          value === undefined ||
          JSON.stringify(value) === JSON.stringify(right[field]) ||
          (field === 'position' && value === null) ||
          (typeof right[field] === 'string' && typeof value === 'string' && value !== '') ||
          (field === 'state' && typeof value === 'object' && value !== null && !Array.isArray(value))
        for (const wrong of WRONG.filter((value) => !isRight(value))) {
          const expected = field === 'token' && typeof wrong === 'string' ? 'unauthorized' : 'bad_request'
          assert.equal(
            await codeOf(event, { ...right, [field]: wrong }),
            expected,
            `${event} ${field} ${JSON.stringify(wrong)}`
          )
        }
      }
    }
    for (const position of [
      {},
      { epoch: 'e' },
      { offset: 1 },
      { epoch: 'e', offset: -1 },
      { epoch: 'e', offset: 0.5 },
      { epoch: 'e', offset: '1' },
      { epoch: 1, offset: 1 },
      { epoch: 'e', offset: 2 ** 60 },
      { epoch: 'x'.repeat(65), offset: 0 },
      { epoch: 'e', offset: 0, more: 1 }
    ]) {
      assert.equal(await codeOf('doc:join', { guid: 'other', position }), 'bad_request', JSON.stringify(position))
    }
    assert.equal(await codeOf('doc:send', { guid: 'doc' }), 'bad_request', 'without data')
    assert.equal(await codeOf('doc:signal', { guid: 'doc', data: 1 }), 'bad_request', 'without event')
  })

  test('names the wrong field in its error, but not its value', async () => {
    const { error } = await client.ask('doc:join', { guid: 'doc', position: { epoch: 'secret', offset: 'secret' } })
    assert.match(error.message, /^position\.offset: /)
    assert.doesNotMatch(error.message, /secret/)
    for (const input of [
      { guid: 'doc', ['x'.repeat(10_000)]: 1 },
      { guid: 'doc', position: { ['x'.repeat(10_000)]: 1 } }
    ]) {
      assert.ok((await client.ask('doc:join', input)).error.message.length <= 300)
    }
  })

  test('accepts any text as guid, up to 256 bytes, without control characters', async () => {
    for (const guid of [
      '{a}',
      'a/b',
      '../..',
      'Dokument ä',
      '文档',
      '👩‍👩‍👧',
      '*',
      '"',
      '\\',
      '__proto__',
      'constructor',
      'x'.repeat(256),
      'ü'.repeat(128),
      ' '
    ]) {
      assert.deepEqual((await client.ask('doc:join', { guid })).guid, guid)
      assert.equal(await codeOf('doc:send', { guid, data: null }), 'ok')
      assert.equal(await codeOf('doc:signal', { guid, event: 'x', data: null }), 'ok')
      assert.equal((await client.ask('doc:leave', { guid })).guid, guid)
    }
    for (const guid of [
      '',
      'x'.repeat(257),
      'ü'.repeat(129),
      'a\nb',
      '\u0000',
      'a\u007f',
      '\u001e',
      'x'.repeat(50_000)
    ]) {
      for (const event of ['doc:join', 'doc:leave', 'doc:send', 'doc:signal'])
        assert.equal(
          await codeOf(event, { ...RIGHT[event], guid }),
          'bad_request',
          `${event} ${JSON.stringify(guid).slice(0, 20)}`
        )
    }
  })

  test('is answered `unknown_event` if its name is unknown', async () => {
    for (const event of [
      'x',
      'doc:',
      'doc:Join',
      'message',
      'error',
      'toString',
      '__proto__',
      'constructor',
      'doc:member',
      'x'.repeat(10_000)
    ])
      assert.equal(await codeOf(event, {}), 'unknown_event', event.slice(0, 20))
    const raw = await rawWebSocket(file, server.url)
    await raw.connect()
    raw.send('421[5]', '422[1e999]', '423["x",1,2,3]')
    for (const id of [1, 2, 3]) await raw.text(new RegExp(`^43${id}\\[\\{"ok":false,"error":\\{"code":"unknown_event"`))
    const { values } = await server.metrics.client_events.get()
    assert.deepEqual(new Set(values.map(({ labels }) => labels.event)), new Set([...Object.keys(RIGHT), 'unknown']))
  })

  test('is handled without an acknowledgement, and with its function in the wrong place', async () => {
    client.emit('doc:join', { guid: 'quiet' })
    client.emit('doc:join', () => assert.fail('a function cannot be sent'), { guid: 'other' })
    client.emit('doc:join', 5)
    client.emit('nonsense')
    await waitFor(() => bus.documents.has('quiet'))
    assert.equal(await codeOf('doc:leave', { guid: 'quiet' }), 'ok')
    assert.equal(await codeOf('doc:leave', { guid: 'other' }), 'not_joined')
  })
})

describe('data of clients', () => {
  test('reaches the other codec unchanged, with the event and the sender', async () => {
    const values = [
      null,
      0,
      '',
      [],
      {},
      { a: [1, 'ü', null] },
      JSON.parse('{"constructor":{"prototype":{"a":1}},"toString":1}')
    ]
    for (const [from, to] of [[client, binary], [binary, client]]) {
      for (const value of values) {
        to.received.length = from.received.length = 0
        assert.match(
          (await from.ask('doc:send', { guid: 'doc', event: 'edit', data: value })).traceId,
          /^[0-9a-f]{32}$/
        )
        assert.equal((await from.ask('doc:signal', { guid: 'doc', event: 'cursor', data: value })).ok, true)
        await waitFor(() => to.received.length === 2)
        const [kept, signal] = to.received
        assert.deepEqual([kept.event, kept.payload, signal.event, signal.payload], ['edit', value, 'cursor', value])
        assert.deepEqual(Object.keys(kept.meta), ['guid', 'offset', 'traceId', 'ts', 'from'])
        assert.deepEqual(Object.keys(signal.meta), ['guid', 'traceId', 'ts', 'from'])
        assert.deepEqual([kept.meta.from, signal.meta.from], [from.id, from.id])
        // the sender gets records published to the document, but not its own signal
        assert.deepEqual(from.received.map(({ event }) => event), ['edit'])
      }
    }
    assert.equal(/** @type {any} */ ({}).a, undefined)
  })

  test('may contain binary', async () => {
    const value = { bytes: Buffer.from([0, 255]), list: [Buffer.alloc(0)] }
    for (const [from, to] of [[client, binary], [binary, client], [client, client]]) {
      to.received.length = 0
      assert.equal((await from.ask('doc:send', { guid: 'doc', data: value })).ok, true)
      await waitFor(() => to.received.length === 1)
      assert.deepEqual(to.received[0].payload, value)
    }
  })

  test('may contain ArrayBuffers of a msgpack client', async () => {
    const { buffer } = new Uint8Array([0, 255])
    const bytes = Buffer.from(buffer)
    for (const to of [client, binary]) {
      to.received.length = 0
      assert.equal((await binary.ask('doc:send', { guid: 'doc', data: { bytes: buffer, list: [buffer] } })).ok, true)
      await waitFor(() => to.received.length === 1)
      assert.deepEqual(to.received[0].payload, { bytes, list: [bytes] })
    }
  })

  test('may contain Dates and other extensions of a msgpack client: msgpack clients get them unchanged, others as JSON', async (t) => {
    const at = new Date(1_700_000_000_123)
    const other = await connectClient(t, server.url, { codec: 'msgpack' })
    await other.ask('doc:join', { guid: 'doc' })
    for (const event of ['doc:send', 'doc:signal']) {
      for (const long of ['', 'x'.repeat(5000)]) {
        for (const to of [client, other]) to.received.length = 0
        assert.equal(
          (await binary.ask(event, { guid: 'doc', event: 'noted', data: { at, long, list: [{ at }] } })).ok,
          true
        )
        await waitFor(() => client.received.length === 1 && other.received.length === 1)
        assert.deepEqual(other.received[0].payload, { at, long, list: [{ at }] })
        assert.deepEqual(client.received[0].payload, { at: at.toISOString(), long, list: [{ at: at.toISOString() }] })
      }
    }
  })

  test('with half a surrogate pair has U+FFFD for msgpack clients, and later records are not lost', async () => {
    for (const to of [client, binary]) to.received.length = 0
    const data = { '\ud800key': ['\udfff', 'x'.repeat(2000)], short: '\ud83d' }
    for (const sent of [data, { short: data.short }, 'text \ud83d', { next: 1 }])
      assert.equal((await client.ask('doc:send', { guid: 'doc', data: sent })).ok, true)
    assert.equal(
      (await client.ask('doc:send', { guid: 'doc', data: { binary: Buffer.from('x'), text: '\ud83d' } })).ok,
      true
    )
    await waitFor(() => client.received.length === 5 && binary.received.length === 5)
    assert.deepEqual(
      binary.received.map(({ payload }) => payload),
      [
        { '\ufffdkey': ['\ufffd', 'x'.repeat(2000)], short: '\ufffd' },
        { short: '\ufffd' },
        'text \ufffd',
        { next: 1 },
        { binary: Buffer.from('x'), text: '\ufffd' }
      ]
    )
  })

  test('does not pollute prototypes', async () => {
    const raw = await rawWebSocket(file, server.url)
    await raw.connect()
    raw.send(
      '421["doc:join",{"guid":"doc","__proto__":{"polluted":1}}]',
      '422["doc:join",{"__proto__":{"guid":"doc"}}]',
      '423["doc:join",{"guid":"p","state":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}]',
      '424["__proto__",{}]'
    )
    await raw.text(/^433\[\{"ok":true/)
    raw.send('425["doc:send",{"guid":"p","data":{"__proto__":{"polluted":1}}}]')
    await raw.text(/^435\[\{"ok":true/)
    assert.match(await raw.text(/^42\["message"/), /^42\["message",\{"__proto__":\{"polluted":1\}\},/)
    assert.equal(/** @type {any} */ ({}).polluted, undefined)
    for (const id of [1, 2, 4]) await raw.text(new RegExp(`^43${id}\\[\\{"ok":false`))
    raw.send('41')
  })

  test('is refused if it is too large, too deep, reserved, or not for an open document', async () => {
    for (const [event, tooLarge] of [['doc:send', 'value_too_large'], ['doc:signal', 'value_too_large']]) {
      const right = RIGHT[event]
      assert.equal(await codeOf(event, { ...right, data: 'x'.repeat(100_000 - 2) }), 'ok')
      assert.equal(await codeOf(event, { ...right, data: 'x'.repeat(100_000 - 1) }), tooLarge)
      for (const name of [
        'connect',
        'connect_error',
        'disconnect',
        'disconnecting',
        'newListener',
        'removeListener',
        'doc:x',
        'gateway:draining',
        'auth:x'
      ]) {
        assert.equal(await codeOf(event, { ...right, event: name }), 'reserved_event', name)
      }
      assert.equal(await codeOf(event, { ...right, event: 'x'.repeat(257) }), 'bad_request')
      assert.equal(await codeOf(event, { ...right, guid: 'never joined' }), 'not_joined')
      assert.equal((await binary.ask(event, { ...right, data: nested(255) })).ok, true)
      assert.equal((await binary.ask(event, { ...right, data: nested(260) })).error.code, 'bad_value')
      assert.equal((await binary.ask(event, { ...right, data: nested(600) })).error.code, 'bad_request')
    }
    const raw = await rawWebSocket(file, server.url)
    await raw.connect({ documents: { doc: null } })
    await raw.text(/doc:joined/)
    for (const [id, depth] of [[1, 257], [2, 3000], [3, 45_000]]) {
      for (const [kind, event] of [[1, 'doc:send'], [2, 'doc:signal']]) {
        raw.send(
          `42${kind}${id}["${event}",{"guid":"doc","event":"x","data":${'['.repeat(depth)}${']'.repeat(depth)}}]`
        )
        assert.match(await raw.text(new RegExp(`^43${kind}${id}`)), /"code":"bad_(?:value|request)"/)
      }
    }
    raw.send('41')
  })

  test('leaves nothing behind', async () => {
    client.disconnect()
    binary.disconnect()
    await waitFor(() => server.gateway.connections <= 1)
    for (const socket of server.gateway.io.sockets.sockets.values()) socket.disconnect(true)
    await nothingLeft(server, bus)
  })
})

/** @param {number} depth @returns {unknown[]} */
function nested (depth) {
  /** @type {unknown[]} */
  let value = []
  for (let i = 1; i < depth; i++) value = [value]
  return value
}
