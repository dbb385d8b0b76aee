import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { rawValue, rememberPacket } from '../../../src/wire/raw-value.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

/** Encoder of Socket.IO's msgpack clients. @type {{ encode: (value: unknown) => Buffer }} */
const notepack = createRequire(createRequire(import.meta.url).resolve('socket.io-msgpack-parser'))('notepack.io')

/** @param {string} packet @returns {string | undefined} */
function rawOf (packet) {
  const args = JSON.parse(packet.slice(packet.indexOf('[')))
  rememberPacket(args, packet)
  return /** @type {string | undefined} */ (rawValue(args[1].data))
}

test('the data of an event is found unchanged in its JSON', () => {
  for (const [packet, data] of [
    ['2["e",{"data":{"a":1}}]', '{"a":1}'],
    ['2["e",{"guid":"data","data":[],"event":"x"}]', '[]'],
    [
      '217["e" , { "x" : { "data" : [ 1 ] } ,\n"data"\t:\r[ "\\"]", {"}":"{"} , 1.0e2 ] }]',
      '[ "\\"]", {"}":"{"} , 1.0e2 ]'
    ],
    ['2["[\\\\",{"a":"\\\\\\"","b":-1e5,"c":null,"data":{"d":"\\\\"}}]', '{"d":"\\\\"}'],
    // the last one counts, in any notation
    ['2["e",{"data":[1],"d\\u0061ta":[2]}]', '[2]'],
    ['2["e",{"data":[1],"data":[2],"dat\\\\a":[3]}]', '[2]'],
    [`2["e",{"data":${'['.repeat(256)}${']'.repeat(256)}}]`, '['.repeat(256) + ']'.repeat(256)]
  ])
    assert.equal(rawOf(packet), data, packet)
})

test('data that is nested too deep, is not an object, or was not kept is not found', () => {
  assert.equal(rawOf(`2["e",{"data":${'['.repeat(257)}${']'.repeat(257)}}]`), undefined)
  assert.equal(rawOf('2["e",{"data":"text"}]'), undefined)
  for (const packet of [
    '2["e"]',
    '2["e",null]',
    '2["e",5]',
    '2["e",{}]',
    '2["e",{"data":null}]',
    '2["e",[{"data":{}}]]'
  ])
    rememberPacket(JSON.parse(packet.slice(1)), packet)
  assert.equal(rawValue({}), undefined)
  assert.equal(rawValue(undefined), undefined)
})

test('all data of clients is found, in JSON and in msgpack', () => {
  const random = seededRandom(7)
  for (let i = 0; i < 200; i++) {
    const data = [randomValue(random, { depth: 3, others: [true, '"\\', '{"data":[1]}'] })]
    const argument = {
      ...(random() < 0.5 ? { guid: 'g', event: 'e' } : {}),
      data,
      ...(random() < 0.5 ? { after: randomValue(random, { depth: 2 }) } : {})
    }
    const text = `2${random() < 0.5 ? i : ''}${JSON.stringify(['e', argument], undefined, Math.floor(random() * 3))}`
    const raw = rawOf(text)
    assert.ok(raw !== undefined, text)
    assert.deepEqual(JSON.parse(raw), data, text)
    const packet = { type: 2, data: ['e', argument], nsp: '/', id: i }
    const encoder = random() < 0.5 ? notepack.encode : encode
    const bytes = Buffer.from(encoder(packet))
    const args = [{}, { data }]
    rememberPacket(args, bytes)
    const found = /** @type {Buffer} */ (rawValue(data))
    assert.ok(found.equals(encoder(data)), String(i))
  }
})
