import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as json from 'socket.io-parser'
import { encodePacket, parser, readPlain } from '../../../src/gateway/codec.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

/**
 * What comes of a connection's messages: the packets, and whether the decoder refused to go on.
 * @param {any} decoder
 * @param {(string | Buffer)[]} messages
 */
function decodeAll (decoder, messages) {
  /** @type {any[]} */
  const packets = []
  // before what it refers to is changed
  decoder.on('decoded', (/** @type {any} */ packet) => packets.push(structuredClone(packet)))
  try {
    for (const message of messages) decoder.add(message)
    return { packets, refused: false }
  } catch {
    return { packets, refused: true }
  }
}

const HELLO = '0{"token":"x"}'
const MESSAGES = [
  HELLO, '0', '0{}', '0[]', '0null', '0{', '0/admin,{}', '0/,{}', '01{}', '0 {}', '0{} ', '0"x"', '0{"__proto__":{"token":"x"}}',
  '1', '1{}', '2', '2[]', '2["a"]', '2["a",1]', '2["a",{"__proto__":1}]', '2[5]', '2[null]', '2["connect"]', '2["disconnect"]', '2["newListener"]', '2{}', '2"a"', '2["a"', '2["a"]]',
  '20["a"]', '2007["a"]', '2 7["a"]', '27 ["a"]', '2-7["a"]', '21e3["a"]', '20x1["a"]', '2999999999999999["a"]', '29007199254740993["a"]', `2${'9'.repeat(40)}["a"]`,
  '2/,["a"]', '2/admin,7["a"]', '2\n["a"]', '2["a"]\n', '2["\ud800"]',
  '3["a"]', '31["a"]', '35000000000[]', '4{}', '4"x"', '51-["a",{"_placeholder":true,"num":0}]', '51-7["a",{"_placeholder":true,"num":0}]', '5["a"]', '61-1[{"_placeholder":true,"num":0}]', '7', 'x', '', ' 2["a"]'
]

describe('the decoder', () => {
  test('reads each message as Socket.IO\'s does, or refuses it as that does', () => {
    for (const message of MESSAGES) {
      const [own, stock] = [new parser.Decoder(), new json.Decoder()].map((decoder) => decodeAll(decoder, [HELLO, message]))
      assert.deepEqual(own, stock, JSON.stringify(message))
    }
  })

  test('reads any messages in any order as Socket.IO\'s does, with attachments between them', () => {
    const random = seededRandom(3)
    const encoder = new json.Encoder()
    const pick = (/** @type {any[]} */ list) => list[Math.floor(random() * list.length)]
    let refused = 0
    for (let i = 0; i < 500; i++) {
      /** @type {(string | Buffer)[]} */
      const messages = [HELLO]
      for (let j = 0; j < 4; j++) {
        const data = [pick(['doc:join', 'a', '', 'connect']), randomValue(random, { depth: 2, others: [Buffer.from('x'), Buffer.alloc(0)] })]
        const encoded = encoder.encode({ type: json.PacketType.EVENT, nsp: pick(['/', '/', '/admin']), id: pick([undefined, 0, 7, 123456]), data })
        if (random() < 0.05) encoded.splice(Math.floor(random() * encoded.length), 1)
        if (random() < 0.2) encoded.splice(Math.floor(random() * 3), 0, pick(MESSAGES.slice(1)))
        messages.push(...encoded)
      }
      const [own, stock] = [new parser.Decoder(), new json.Decoder()].map((decoder) => decodeAll(decoder, messages))
      // it lets no client connect more than ten times, which does not happen here
      assert.deepEqual(own, stock, JSON.stringify(messages))
      if (own.refused) refused++
    }
    assert.ok(refused > 50 && refused < 450, String(refused))
  })

  test('reads what nearly all clients send without asking Socket.IO\'s', () => {
    assert.deepEqual(readPlain(HELLO), { type: 0, nsp: '/', data: { token: 'x' } })
    assert.deepEqual(readPlain('20["doc:join",{"guid":"minutes"}]'), { type: 2, nsp: '/', id: 0, data: ['doc:join', { guid: 'minutes' }] })
    assert.deepEqual(readPlain('2["doc:signal",{}]'), { type: 2, nsp: '/', data: ['doc:signal', {}] })
  })

  test('tells nobody any more once its listener was taken off', () => {
    const decoder = /** @type {any} */ (new parser.Decoder())
    const heard = () => assert.fail('heard')
    decoder.on('decoded', heard)
    decoder.removeListener('decoded', heard)
    for (const message of [HELLO, '2["a"]', '3[]']) decoder.add(message)
  })
})

describe('the encoder', () => {
  test('writes what Socket.IO\'s does', () => {
    const random = seededRandom(5)
    const stock = new json.Encoder()
    const others = [
      Buffer.from('x'), new Uint8Array(3), new ArrayBuffer(2), new Blob(['x']), new Date(0), new Map([[1, 2]]), undefined, NaN, () => 1,
      { toJSON: () => Buffer.from('x') }, { toJSON: () => 7 }, Object.create({ inherited: Buffer.from('x') }), Object.create(null), new (class { value = Buffer.from('x') })(), [[Buffer.from('x')]]
    ]
    for (let i = 0; i < 2000; i++) {
      const type = [0, 1, 2, 3, 4][Math.floor(random() * 5)]
      const value = randomValue(random, { depth: 2, others })
      const packet = { type, nsp: random() < 0.8 ? '/' : '/admin', id: random() < 0.5 ? undefined : Math.floor(random() * 100), data: type === 2 || type === 3 ? ['a', value] : random() < 0.2 ? undefined : value }
      assert.deepEqual(encodePacket('json', packet), stock.encode(packet))
    }
  })
})
