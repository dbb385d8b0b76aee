import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { decodeMsgpack, encodeMsgpack } from '../../../src/wire/msgpack.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const { log, lines } = recordingLog()
const { url, metrics } = await startEmbedded({ after }, { MAX_EVENTS_PER_SECOND: '1000' }, log)

const bytes = (/** @type {number} */ count) => Array.from({ length: count }, () => Buffer.from('x'))
const forged = (/** @type {string} */ num) => `["doc:send",{"guid":"x","data":{"_placeholder":true,"num":${num}}}]`

/**
 * Events that the decoder refuses, by kind: what comes before the id and after it, and attachments.
 * @type {[string, string, string, Buffer[]?][]}
 */
const JSON_EVENTS = [
  ...['doc:send', 'doc:signal', 'doc:state', 'doc:join', 'unknown'].flatMap((event) =>
    ['NaN', 'Infinity', '-Infinity', '1n', '"\n"', '{"a":', 'undefined', '\'x\'', '01', '[1,]', '}'].map((value) =>
      /** @type {[string, string, string]} */ (['json', '2', `["${event}",{"guid":"x","data":${value}}]`]))),
  ...['{"a":1}', '"doc:send"', 'null', '[null]', '[]', '[{}]', '["connect",1]', '["disconnect"]', '["newListener"]'].map((args) =>
    /** @type {[string, string, string]} */ (['json', '2', args])),
  ['json', '51-', '["doc:send",{"guid":"x","data":[NaN,{"_placeholder":true,"num":0}]}]', bytes(1)],
  ...[11, 12, 40, 99, 250].map((count) =>
    /** @type {[string, string, string, Buffer[]]} */ (['attachments', `5${count}-`, '["doc:send",{"guid":"x"}]', bytes(count)])),
  ...['5', '-1', '1', '"0"', 'null', '[]'].map((num) =>
    /** @type {[string, string, string, Buffer[]]} */ (['placeholder', '51-', forged(num), bytes(1)])),
  ['depth', '2', `["doc:send",{"guid":"x","data":${'['.repeat(20_000)}`],
  ['depth', '51-', `["doc:send",{"guid":"x","data":${'['.repeat(20_000)}`, bytes(1)]
]

const packet = { type: 2, nsp: '/', id: 7 }
const withByte = (/** @type {number} */ byte) => {
  const encoded = encodeMsgpack({ ...packet, data: ['doc:send', { guid: 'x', data: '?' }] })
  encoded[encoded.length - 1] = byte
  return encoded
}
/** @param {number[]} value bytes of the data @returns {Buffer} */
const withData = (...value) => {
  const encoded = encodeMsgpack({ ...packet, data: ['doc:send', { guid: 'x', data: 0 }] })
  return Buffer.concat([encoded.subarray(0, -1), Buffer.from(value)])
}
/** @type {[string, Buffer][]} */
const MSGPACK_EVENTS = [
  ['msgpack', withByte(0xff)], // no UTF-8
  ['msgpack', withData(0xc1)],
  ['msgpack', withData(0xd4, 0xff, 0)], // a timestamp of one byte
  ['msgpack', withData(0xc7, 0x05, 0xff, 0, 0, 0, 0, 0)],
  ['msgpack', withData(0x81, 0x80, 0)], // a map as a key
  ['msgpack', withData(0xc6, 0xff, 0xff, 0xff, 0xff)], // 4 GB
  ['msgpack', withData(0xdf, 0xff, 0xff, 0xff, 0xff)],
  ['msgpack', withData(0, 0)], // bytes follow
  ['msgpack', withData()],
  ['msgpack', withData(...Array(1100).fill(0x91), 0)],
  ...['x', 5, { a: 1 }, [], [null], [5], ['connect'], ['disconnect', 1]].map((data) =>
    /** @type {[string, Buffer]} */ (['msgpack', encodeMsgpack({ ...packet, data })])),
  ['values', encodeMsgpack({ ...packet, data: ['doc:send', { guid: 'x', data: Array(50_000).fill(0) }] })]
]

/** @param {any} data @returns {any} */
const decoded = (data) => decodeMsgpack(data)

/** @param {string} kind @returns {Promise<number>} packets that were not decoded */
async function counted (kind) {
  const { values } = await /** @type {any} */ (metrics.undecoded_packets).get()
  return values.find((/** @type {any} */ { labels }) => labels.kind === kind)?.value ?? 0
}

describe('an event that cannot be decoded', () => {
  test('is answered with bad_value, and the connection stays: JSON', async (t) => {
    const client = await rawWebSocket(t, url)
    await client.connect()
    let id = 100
    for (const [kind, before, args, attachments = []] of JSON_EVENTS) {
      id++
      const seen = await counted(kind)
      client.send(`4${before}${id}${args}`, ...attachments, `42${id}000["doc:leave",{"guid":"x"}]`)
      assert.match(await client.text(new RegExp(`^43${id}\\[`)), /"ok":false,"error":\{"code":"bad_value".*"retryable":false/, args)
      await client.text(new RegExp(`^43${id}000\\[.*"code":"not_joined"`))
      assert.equal(await counted(kind), seen + 1, `${kind}: ${args.slice(0, 100)}`)
    }
    assert.ok(client.open)
    t.diagnostic(`${JSON_EVENTS.length} cases`)
  })

  test('is answered with bad_value, and the connection stays: JSON, long polling', async () => {
    const client = await rawPolling(url)
    await client.connect()
    let id = 100
    for (const [, before, args, attachments = []] of JSON_EVENTS) {
      id++
      const packets = [
        `4${before}${id}${args}`, ...attachments.map((one) => `b${one.toString('base64')}`), `42${id}000["doc:leave",{"guid":"x"}]`
      ]
      assert.equal((await client.post(packets.join('\x1e'))).status, 200)
      assert.equal(await client.until(new RegExp(`43${id}000\\[`)), true, args)
    }
    await client.leave()
  })

  test('is answered with bad_value, and the connection stays: msgpack', async (t) => {
    const client = await rawWebSocket(t, url)
    client.send(encodeMsgpack({ type: 0, nsp: '/', data: {} }))
    await waitFor(() => client.received.length === 2)
    for (const [kind, encoded] of MSGPACK_EVENTS) {
      const seen = await counted(kind)
      const before = client.received.length
      client.send(encoded, encodeMsgpack({ type: 2, nsp: '/', id: 8, data: ['doc:leave', { guid: 'x' }] }))
      await waitFor(() => client.received.length === before + 2, { message: () => encoded.toString('hex').slice(0, 200) })
      const [refused, left] = client.received.slice(before).map((data) => decoded(data))
      assert.deepEqual([refused.type, refused.id, refused.data[0].ok], [3, 7, false])
      assert.match(refused.data[0].error.code, /^bad_(value|utf8)$/)
      assert.deepEqual([left.id, left.data[0].error.code], [8, 'not_joined'])
      assert.equal(await counted(kind), seen + 1)
    }
    t.diagnostic(`${MSGPACK_EVENTS.length} cases`)
  })

  test('without an id, and what is no event, ends the connection with bad_value', async (t) => {
    /** @type {(string | Buffer)[][]} */
    const cases = [
      ...JSON_EVENTS.filter(([kind]) => kind !== 'depth')
        .map(([, before, args, attachments = []]) => [`4${before}${args}`, ...attachments]),
      ['4x'], ['49'], ['43["a"'], ['431{}'], ['44{'], ['45["a"]'], ['45x-1["a"]'], ['461-1["a",NaN]'], ['41{}'], ['40['],
      [Buffer.from('of no event')],
      ['451-7["doc:send",{"data":{"_placeholder":true,"num":0}}]', '42["doc:leave",{"guid":"x"}]'],
      ['4511-7["doc:send",{}]', Buffer.from('one'), '42["doc:leave",{"guid":"x"}]']
    ]
    for (const packets of cases) {
      const client = await rawWebSocket(t, url)
      await client.connect()
      client.send(...packets)
      await client.closed
      const last = client.received.filter((data) => String(data).startsWith('42["gateway:disconnect"')).at(-1)
      assert.match(String(last), /"code":"bad_value","message":".+","retryable":false/, packets.map(String).join(' ').slice(0, 100))
    }
    const client = await rawWebSocket(t, url)
    client.send(encodeMsgpack({ type: 0, nsp: '/', data: {} }))
    await waitFor(() => client.received.length === 2)
    client.send(Buffer.from([0xc1]))
    await client.closed
    assert.ok(client.received.some((data) => data.includes('gateway:disconnect') && data.includes('bad_value')))
    t.diagnostic(`${cases.length + 1} cases`)
  })

  test('tells a stock client why it is disconnected', async (t) => {
    const client = await connectClient(t, url)
    const gone = client.next('disconnect')
    client.io.engine.write('2["doc:signal",{"guid":"x","event":"e","data":NaN}]')
    assert.equal((await gone)[0], 'io server disconnect')
    const { event, payload: { code, message, retryable } } = client.received[0]
    assert.deepEqual([event, code, retryable], ['gateway:disconnect', 'bad_value', false])
    assert.match(message, /NaN/)
  })
})

test('a CONNECT that cannot be decoded is refused with bad_value', async (t) => {
  for (const text of ['40{"token":NaN}', '40{', '40[]', '40null', '40"x"', '40{"documents":{"a":{"state":{"x":Infinity}}}}']) {
    const client = await rawWebSocket(t, url)
    client.send(text)
    assert.match(await client.text(/^44/), /"code":"bad_value","retryable":false/, text)
    await client.connect({})
  }
  for (const bad of [[0xc1], [0x91], [0xd4, 0xff, 0], [5]]) {
    const client = await rawWebSocket(t, url)
    const good = encodeMsgpack({ type: 0, nsp: '/', data: 0 })
    client.send(Buffer.concat([good.subarray(0, -1), Buffer.from(bad)]))
    await waitFor(() => client.received.length === 2)
    assert.ok(client.received[1].includes('bad_value'), client.received[1].toString('latin1'))
  }
})

test('a client that does not begin with CONNECT is closed, and counted', async (t) => {
  for (const text of ['42["a"]', '4x', '43[]', '41']) {
    const client = await rawWebSocket(t, url)
    client.send(text)
    await client.closed
  }
  assert.ok(await counted('connect') >= 3)
})

test('a client of Socket.IO 2 is counted and named in the log', async () => {
  const before = await counted('protocol')
  const answer = await fetch(`${url}/socket.io/?EIO=3&transport=polling`)
  assert.equal(answer.status, 400)
  assert.equal((await answer.text()).includes('Unsupported protocol version'), true)
  assert.equal(await counted('protocol'), before + 1)
  assert.ok(lines.some(({ text }) => text.includes('"kind":"protocol"') && text.includes('Socket.IO 2')))
})

test('each kind has one line in the log, with the reason and without the values', () => {
  const kinds = lines
    .filter(({ level, text }) => level === 'warn' && text.includes('cannot be decoded'))
    .map(({ text }) => JSON.parse(text.slice(0, text.indexOf('} ') + 1)))
  assert.deepEqual(kinds.map(({ kind }) => kind).sort(), [
    'attachments', 'connect', 'depth', 'json', 'msgpack', 'placeholder', 'protocol', 'values'
  ])
  for (const { reason } of kinds) assert.ok(reason.length > 5)
})
