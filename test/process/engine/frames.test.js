import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { Decoder } from 'socket.io-parser'
import msgpack from 'socket.io-msgpack-parser'
import { decodeMsgpack, encodeMsgpack } from '../../../src/wire/msgpack.js'
import { LazyText, jsonMessage, msgpackMessage, plainMessage } from '../../../src/wire/packet.js'

const { Receiver } = createRequire(import.meta.url)('ws')

/** @typedef {import('../../../src/wire/packet.js').EncodedMessage} EncodedMessage */

/**
 * Decodes frames like a WebSocket library.
 * @param {Buffer[]} frames
 * @returns {{ data: Buffer, isBinary: boolean }[]}
 */
function parseFrames (frames) {
  const receiver = new Receiver({ isServer: false, allowSynchronousEvents: true })
  /** @type {{ data: Buffer, isBinary: boolean }[]} */
  const messages = []
  receiver.on('message', (/** @type {Buffer} */ data, /** @type {boolean} */ isBinary) =>
    messages.push({ data, isBinary })
  )
  receiver.on('error', (/** @type {Error} */ error) => { throw error })
  for (const frame of frames) receiver.write(frame)
  return messages
}

/**
 * Decodes a message like a stock client: from the frame and from a polling packet, which must agree.
 * @param {EncodedMessage[]} encoded
 * @param {'json' | 'msgpack'} codec
 * @returns {any[]} the event's arguments
 */
function decode (encoded, codec) {
  const frames = parseFrames(encoded.map(({ frame }) => frame))
  assert.equal(frames.length, encoded.length)
  const decoder = codec === 'json' ? new Decoder() : new msgpack.Decoder()
  /** @type {any[]} */
  const packets = []
  decoder.on('decoded', (/** @type {any} */ packet) => packets.push(packet))
  for (const [i, { data, isBinary }] of frames.entries()) {
    const inPoll = encoded[i].data
    if (isBinary) {
      assert.deepEqual(inPoll, data)
      decoder.add(data)
    } else {
      const text = data.toString()
      assert.equal(text[0], '4', 'Engine.IO message')
      assert.equal(String(inPoll), text.slice(1))
      decoder.add(text.slice(1))
    }
  }
  assert.equal(packets.length, 1)
  assert.equal(packets[0].type, 2)
  assert.equal(packets[0].nsp, '/')
  return packets[0].data
}

/**
 * @param {string} event
 * @param {unknown} payload
 * @param {object} meta
 */
function check (event, payload, meta) {
  assert.deepEqual(decode([jsonMessage(event, Buffer.from(JSON.stringify(payload)), meta)], 'json'), [
    event,
    payload,
    meta
  ])
  assert.deepEqual(decode([msgpackMessage(event, encodeMsgpack(payload), meta)], 'msgpack'), [event, payload, meta])
}

const META = { guid: 'a', offset: 1, traceId: 't', ts: 1 }

describe('frames around a spliced value', () => {
  test('have the correct WebSocket length, at each change of its encoding', () => {
    // the parts of the message around the text have a constant size
    const around = (/** @type {EncodedMessage} */ message) => parseFrames([message.frame])[0].data.length
    const jsonRest = around(jsonMessage('e', Buffer.from('""'), META)) - 2
    for (const length of [jsonRest + 2, 125, 126, 127, 65_535, 65_536, 65_537, 2 ** 20]) {
      const text = 'x'.repeat(length - jsonRest - 2)
      const message = jsonMessage('e', Buffer.from(JSON.stringify(text)), META)
      assert.equal(message.frame.length, length + (length < 126 ? 2 : length < 65_536 ? 4 : 10))
      assert.equal(around(message), length)
      assert.deepEqual(decode([message], 'json'), ['e', text, META])

      const value = encodeMsgpack(text)
      const binary = msgpackMessage('e', value, META)
      const target = length - (around(binary) - value.length)
      if (target < 5) continue
      const bytes = Buffer.concat([Buffer.from([0xc6, 0, 0, 0, 0]), Buffer.alloc(target - 5, 7)])
      bytes.writeUInt32BE(target - 5, 1)
      const exact = msgpackMessage('e', bytes, META)
      assert.equal(around(exact), length)
      assert.deepEqual(decode([exact], 'msgpack'), ['e', Buffer.alloc(target - 5, 7), META])
    }
  })

  test('carry any event name and any meta', () => {
    for (const event of [
      'a',
      '"',
      '\\',
      '"]},',
      '\'',
      'Ereignis äöü',
      '👩‍👩‍👧',
      '\u2028',
      ' ',
      '42',
      '__proto__',
      'x'.repeat(256)
    ])
      check(event, { a: 1 }, META)
    check('e', null, {})
    check('e', null, { guid: 'Grüße "und" {mehr}', from: 'x' })
  })

  test('carry any value', () => {
    for (let i = 0; i < 300; i++)
      check(randomText(), randomValue(4), { guid: randomText(), offset: randomInt(2 ** 40), ts: Date.now() })
  })

  test('request an acknowledgement if there is an id', () => {
    const id = 2 ** 31 - 1
    assert.equal(String(jsonMessage('e', Buffer.from('1'), META, id).data), `2${id}["e",1,${JSON.stringify(META)}]`)
    const message = msgpackMessage('e', encodeMsgpack(1), META, id)
    assert.deepEqual(decode([message], 'msgpack'), ['e', 1, META])
    assert.equal(/** @type {any} */ (decodeMsgpack(/** @type {Buffer} */ (message.data))).id, id)
  })

  test('keep the bytes of the value unchanged', () => {
    const odd = '{ "a" : 1.0e0, "a":\t2,\n"b": "\\u00e9\\/" }'
    assert.ok(jsonMessage('e', Buffer.from(odd), META).frame.includes(odd))
    const wide = Buffer.from([0xdd, 0, 0, 0, 1, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5])
    assert.ok(msgpackMessage('e', wide, META).frame.includes(wide))
  })

  test('create their text on first use, and only once', () => {
    const { data } = jsonMessage('e', Buffer.from('"ü"'), META)
    assert.ok(data instanceof LazyText)
    assert.equal(`${data}`, `2["e","ü",${JSON.stringify(META)}]`)
    data.bytes.fill(0)
    assert.equal(`${data}`, `2["e","ü",${JSON.stringify(META)}]`)
  })

  test('can wrap the output of a stock encoder', () => {
    assert.deepEqual(
      decode([plainMessage('51-["e",{"_placeholder":true,"num":0}]'), plainMessage(Buffer.from([0, 1]))], 'json'),
      ['e', Buffer.from([0, 1])]
    )
  })
})

/** @returns {string} */
const randomText = () =>
  Array.from({ length: 1 + randomInt(12) }, () =>
    String.fromCodePoint([randomInt(32, 127), randomInt(0xa0, 0xd7ff), randomInt(0x10000, 0x10ffff)][randomInt(3)])
  ).join('')

/** @param {number} depth @returns {unknown} */
function randomValue (depth) {
  switch (randomInt(depth > 0 ? 9 : 7)) {
    case 0:
      return null
    case 1:
      return randomInt(2) === 0
    case 2:
      return randomInt(-(2 ** 40), 2 ** 40)
    case 3:
      return randomInt(-40, 40)
    case 4:
      return (randomInt(2 ** 40) - 2 ** 39) / 1000
    case 5:
      return ''
    case 6:
      return randomText()
    case 7:
      return Array.from({ length: randomInt(20) }, () => randomValue(depth - 1))
    default:
      return Object.fromEntries(Array.from({ length: randomInt(20) }, () => [randomText(), randomValue(depth - 1)]))
  }
}
