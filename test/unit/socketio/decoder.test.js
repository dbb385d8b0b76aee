import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'
import * as json from 'socket.io-parser'
import { systemClock } from '../../../src/base/common/clock.js'
import { decoderFor } from '../../../src/transport/socketio/decoder.js'
import { UNREADABLE, kRefused } from '../../../src/transport/admission/rate-limit.js'
import { rawValue } from '../../../src/wire/raw-value.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

const Decoder = decoderFor(0, systemClock)

/**
 * Decodes a connection's messages: the packets, and whether the decoder failed.
 * @param {any} decoder
 * @param {(string | Buffer)[]} messages
 */
function decodeAll (decoder, messages) {
  /** @type {any[]} */
  const packets = []
  // copied before referenced data is changed
  decoder.on('decoded', (/** @type {any} */ packet) => packets.push(
    packet.data === UNREADABLE ? packet : structuredClone(packet)))
  try {
    for (const message of messages) {
      decoder.add(message)
      // a CONNECT that stock decoders refuse gets an answer here, without its data
      if (packets.at(-1)?.data === UNREADABLE) return { packets: packets.slice(0, -1), refused: true }
    }
    return { packets, refused: false }
  } catch {
    return { packets, refused: true }
  }
}

const HELLO = '0{"token":"x"}'
const MESSAGES = [
  HELLO,
  '0',
  '0{}',
  '0[]',
  '0null',
  '0{',
  '0/admin,{}',
  '0/,{}',
  '01{}',
  '0 {}',
  '0{} ',
  '0"x"',
  '0{"__proto__":{"token":"x"}}',
  '1',
  '1{}',
  '2',
  '2[]',
  '2["a"]',
  '2["a",1]',
  '2["a",{"__proto__":1}]',
  '2[5]',
  '2[null]',
  '2["connect"]',
  '2["disconnect"]',
  '2["newListener"]',
  '2{}',
  '2"a"',
  '2["a"',
  '2["a"]]',
  '20["a"]',
  '2007["a"]',
  '2 7["a"]',
  '27 ["a"]',
  '2-7["a"]',
  '21e3["a"]',
  '20x1["a"]',
  '2999999999999999["a"]',
  '29007199254740993["a"]',
  `2${'9'.repeat(40)}["a"]`,
  '2/,["a"]',
  '2/admin,7["a"]',
  '2\n["a"]',
  '2["a"]\n',
  '2["\ud800"]',
  '3["a"]',
  '31["a"]',
  '35000000000[]',
  '4{}',
  '4"x"',
  '51-["a",{"_placeholder":true,"num":0}]',
  '51-7["a",{"_placeholder":true,"num":0}]',
  '5["a"]',
  '61-1[{"_placeholder":true,"num":0}]',
  '7',
  'x',
  '',
  ' 2["a"]'
]

describe('the decoder', () => {
  test('reads or refuses each message like Socket.IO\'s decoder', () => {
    for (const message of MESSAGES) {
      const [own, stock] = [new Decoder(), new json.Decoder()].map((decoder) =>
        decodeAll(decoder, [HELLO, message])
      )
      assert.deepEqual(own, stock, JSON.stringify(message))
    }
  })

  test('reads any messages in any order like Socket.IO\'s decoder, with attachments in between', () => {
    const random = seededRandom(3)
    const encoder = new json.Encoder()
    const pick = (/** @type {any[]} */ list) => list[Math.floor(random() * list.length)]
    let refused = 0
    for (let i = 0; i < 500; i++) {
      /** @type {(string | Buffer)[]} */
      const messages = [HELLO]
      for (let j = 0; j < 4; j++) {
        const data = [
          pick(['doc:join', 'a', '', 'connect']),
          randomValue(random, { depth: 2, others: [Buffer.from('x'), Buffer.alloc(0)] })
        ]
        const encoded = encoder.encode({
          type: json.PacketType.EVENT,
          nsp: pick(['/', '/', '/admin']),
          id: pick([undefined, 0, 7, 123456]),
          data
        })
        if (random() < 0.05) encoded.splice(Math.floor(random() * encoded.length), 1)
        if (random() < 0.2) encoded.splice(Math.floor(random() * 3), 0, pick(MESSAGES.slice(1)))
        messages.push(...encoded)
      }
      const [own, stock] = [new Decoder(), new json.Decoder()].map((decoder) => decodeAll(decoder, messages))
      // it lets no client connect more than ten times, which does not happen here
      assert.deepEqual(own, stock, JSON.stringify(messages))
      if (own.refused) refused++
    }
    assert.ok(refused > 50 && refused < 450, String(refused))
  })

  test('keeps the text of a large event for its handler, and no other', () => {
    const decoder = /** @type {any} */ (new Decoder())
    /** @type {any[]} */
    const packets = []
    decoder.on('decoded', (/** @type {any} */ packet) => packets.push(packet))
    const data = { text: 'x'.repeat(2000) }
    const event = JSON.stringify(['doc:send', { data }])
    for (const message of [HELLO, `27${event}`, `2/admin,7${event}`, '28["doc:send",{"data":{}}]']) decoder.add(message)
    const kept = packets.slice(1).map((packet) => rawValue(packet.data[1].data))
    assert.deepEqual(kept, [JSON.stringify(data), undefined, undefined])
    const broken = `27${event.slice(0, -1)}`
    assert.throws(() => decoder.add(broken))
    assert.equal(packets.length, 4)
  })

  test('has one object shape in all gateways, so that compiled code is reused', () => {
    const [few, many] = [new (decoderFor(1, systemClock))(), new (decoderFor(100, systemClock))()]
    assert.equal(Object.getPrototypeOf(few), Object.getPrototypeOf(many))
    const packet = JSON.stringify({ token: 'x', documents: Array.from({ length: 1500 }, () => 0) })
    assert.equal(decodeAll(few, [`0${packet}`]).packets[0].data.token, undefined)
    assert.equal(decodeAll(many, [`0${packet}`]).packets[0].data.token, 'x')
  })

  test('emits nothing after its listener was removed', () => {
    const decoder = /** @type {any} */ (new Decoder())
    const heard = () => assert.fail('heard')
    decoder.on('decoded', heard)
    decoder.removeListener('decoded', heard)
    for (const message of [HELLO, '2["a"]', '3[]']) decoder.add(message)
  })
})

describe('an admitted client', () => {
  const msgpack = (/** @type {any} */ packet) => /** @type {any} */ (new msgpackParser.Encoder().encode(packet))[0]
  const LONG = 'x'.repeat(2000)

  /**
   * @param {object} connection
   * @param {string | Buffer} hello
   */
  function decoderOf (connection, hello) {
    const decoder = /** @type {any} */ (new Decoder())
    /** @type {any[]} */
    const packets = []
    const decoded = { ms: 0, times: 0 }
    /** @type {string[]} codes */
    const ended = []
    decoder.on('decoded', (/** @type {any} */ packet) => packets.push(packet))
    decoder.add(hello)
    packets.length = 0
    decoder.connection = {
      mayHandle: () => false,
      overworked: true,
      open: true,
      disconnect (/** @type {string} */ code) { ended.push(code) },
      decoded (/** @type {number} */ ms) {
        decoded.ms += ms
        decoded.times++
      },
      ...connection
    }
    return { packets, decoded, ended, add: (/** @type {string | Buffer} */ data) => decoder.add(data) }
  }
  const refused = (
    /** @type {any} */ { data: [name, { error: { code } }, event], id, ...rest }
  ) => ({ known: name === kRefused, code, event, id, ...rest })

  test('that sends too much is answered without decoding it', () => {
    // none of these could be decoded
    const { packets, ended, add } = decoderOf({}, HELLO)
    add('27["doc:send",{{')
    add('2["doc:signal",{{')
    add(`212[${LONG}`)
    add('52-8["doc:send",{"_placeholder":true')
    add(Buffer.from('one'))
    add(Buffer.from('two'))
    add('29["doc:leave"]]')
    assert.deepEqual(
      packets.map(refused),
      [
        [7, 'doc:send'],
        [undefined, 'doc:signal'],
        [12, ''],
        [8, 'doc:send'],
        [9, 'doc:leave']
      ].map(([id, event]) => ({ known: true, code: 'rate_limited', event, id, type: 2, nsp: '/' }))
    )
    add('51-["a",1]')
    assert.deepEqual(ended, [])
    add('2["a"]')
    assert.deepEqual(ended, ['bad_value'], 'an attachment is missing')
  })

  test('that sends too much in a namespace of an extension is answered there, without decoding it', () => {
    const json = decoderOf({}, HELLO)
    json.add('2/chat,7["say",{{')
    const binary = decoderOf({}, msgpack({ type: 0, nsp: '/', data: {} }))
    const nsp = `/${'long'.repeat(20)}`
    binary.add(msgpack({ type: 2, nsp, id: 8, data: ['say', LONG] }))
    binary.add(msgpack({ type: 2, nsp, id: 9, data: ['say'] }))
    assert.deepEqual([...json.packets, ...binary.packets].map(refused), [[7, '/chat'], [8, nsp], [9, nsp]].map(
      ([id, nsp]) => ({ known: true, code: 'rate_limited', event: 'say', id, type: 2, nsp })
    ))
  })

  test('that nests a large value too deep is answered without decoding it', () => {
    const { packets, add } = decoderOf({ mayHandle: () => true, overworked: false }, HELLO)
    const deep = '['.repeat(20_000)
    // none of these could be decoded
    add(`27["doc:signal",{"data":"\\\\\\"","more":${deep}`)
    add(`51-8["doc:send",${deep}`)
    add(Buffer.from('one'))
    assert.deepEqual(
      packets.map(refused),
      [
        [7, 'doc:signal'],
        [8, 'doc:send']
      ].map(([id, event]) => ({ known: true, code: 'bad_value', event, id, type: 2, nsp: '/' }))
    )
    packets.length = 0
    const flat = [{ text: '['.repeat(20_000), '"': '\\"['.repeat(5000) }, '[]'.repeat(10_000)]
    add(`2${JSON.stringify(['doc:signal', ...flat])}`)
    assert.deepEqual(packets.map(({ data }) => data), [['doc:signal', ...flat]])
  })

  test('that sends too much is answered without decoding it, with msgpack', () => {
    const { packets, add } = decoderOf({}, msgpack({ type: 0, nsp: '/', data: {} }))
    for (const id of [undefined, 0, 127, 128, 255, 256, 65_536, 2 ** 40]) {
      add(msgpack({ type: 2, nsp: '/', data: ['doc:send', { data: LONG }], id }))
      add(msgpack({ id, data: ['doc:send', 1], type: 2, nsp: '/' }))
    }
    // the whole message cannot be decoded
    const broken = msgpack({ id: 7, type: 2, nsp: '/', data: ['doc:send', { data: LONG }] })
    broken[broken.length - LONG.length - 10] = 0xc1
    add(broken)
    const ids = packets.map(refused).map(({ known, code, id }) => known && code === 'rate_limited' && id)
    assert.deepEqual(ids, [undefined, 0, 127, 128, 255, 256, 65_536, 2 ** 40].flatMap((id) => [id, id]).concat(7))
  })

  test('that has used too much CPU may acknowledge receipts, which are counted and not decoded, and is disconnected for large packets ' +
    'of other types', () => {
    /** @type {number[]} */
    const acknowledged = []
    let cutOff = 0
    const connection = {
      acknowledged: (/** @type {number} */ id) => acknowledged.push(id),
      disconnect: () => { cutOff++ }
    }
    const id = 2 ** 32 - 1
    const json = decoderOf(connection, HELLO)
    json.add(`3${id}[{{`)
    json.add(`61-${id}[{{`)
    json.add(Buffer.from('x'))
    const binary = decoderOf(connection, msgpack({ type: 0, nsp: '/', data: {} }))
    binary.add(msgpack({ type: 3, nsp: '/', id, data: [LONG] }))
    assert.equal(cutOff, 0)
    binary.add(msgpack({ type: 0, nsp: '/admin', data: { LONG } }))
    assert.equal(cutOff, 1)
    assert.deepEqual([...json.packets, ...binary.packets], [])
    assert.equal(acknowledged.every((receipt) => receipt === id), true)
  })

  test('is charged for the CPU time of its large packets', () => {
    const { packets, decoded, add } = decoderOf({ mayHandle: () => true, overworked: false }, HELLO)
    for (let i = 0; i < 100; i++) add('27["doc:send",{}]')
    assert.equal(decoded.times, 0)
    add(`27["doc:send",[${Array(100_000).fill('[]')}]]`)
    assert.equal(decoded.times, 1)
    assert.ok(decoded.ms > 0)
    add(`27["doc:send",[${LONG}`)
    assert.equal(decoded.times, 2)
    assert.equal(packets.length, 102)
  })

  test('may send fifty thousand values with msgpack, and gets an error for more', () => {
    const { packets, ended, add } = decoderOf(
      { mayHandle: () => true, overworked: false },
      msgpack({ type: 0, nsp: '/', data: {} })
    )
    const event = (/** @type {number} */ values, /** @type {object} */ rest = {}) =>
      msgpack({ type: 2, nsp: '/', id: 3, data: ['doc:send', Array(values).fill(0)], ...rest })
    add(event(49_000))
    assert.equal(packets.length, 1)
    add(event(50_000))
    assert.deepEqual(refused(packets[1]), {
      known: true,
      code: 'bad_value',
      event: 'doc:send',
      id: 3,
      type: 2,
      nsp: '/'
    })
    add(event(50_000, { id: undefined }))
    assert.deepEqual([packets.length, ended], [3, []])
    add(event(50_000, { type: 3 }))
    assert.deepEqual(ended, ['bad_value'])
  })
})
