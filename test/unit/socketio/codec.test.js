import assert from 'node:assert/strict'
import { test } from 'node:test'
import parser from 'socket.io-msgpack-parser'
import * as json from 'socket.io-parser'
import { encodePacket } from '../../../src/transport/socketio/codec.js'

/** Packets with a value that somebody else has set, as the gateway sends them; records are spliced in. */
const PACKETS = /** @type {[string, (value: any) => any][]} */ ([
  ['doc:presence, who joined', (value) => event('doc:presence', { joined: [{ state: value }], left: [], changed: [] })],
  ['doc:presence, who changed', (value) => event('doc:presence', { joined: [], changed: [{ connections: [{ state: value }] }] })],
  ['doc:presence, a list', (value) => event('doc:presence', { members: [{ state: value }], version: 1_700_000_000_000 })],
  ['doc:joined', (value) => event('doc:joined', { ok: true, members: [{ name: 'ü', state: value }] })],
  ['the answer to a join', (value) => answer({ ok: true, members: [{ state: value }] })],
  ['a history', (value) => answer({ ok: true, records: [{ event: 'op', payload: value }] })],
  ['an event of an extension', (value) => event('own:event', value, [value], { at: new Date(5), bytes: Buffer.from([0xcf]) })],
  ['an acknowledgement of an extension', (value) => answer(value, 'text')],
  ['a CONNECT', (value) => ({ type: 0, nsp: '/', data: { sid: 'a', more: value } })]
])

/** @param {any[]} data */
function event (...data) { return { type: 2, nsp: '/', data } }
/** @param {any[]} data */
function answer (...data) { return { type: 3, nsp: '/', id: 7, data } }

/** Whole numbers around each power of two, both signs, and others. */
const numbers = [
  ...Array.from({ length: 1024 }, (_, power) => 2 ** power).flatMap((whole) => {
    const step = Math.max(1, whole * Number.EPSILON)
    return [whole - step / 2, whole, whole + step].filter(Number.isInteger).flatMap((number) => [number, -number])
  }),
  0, 0.5, -0.1, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE
]

/** @param {'json' | 'msgpack'} codec @param {any} packet @returns {any} as a stock client reads it */
function read (codec, packet) {
  /** @type {any} */
  let decoded
  const decoder = new (codec === 'json' ? json : parser).Decoder()
  decoder.on('decoded', (/** @type {any} */ packet) => { decoded = packet })
  for (const message of encodePacket(codec, packet)) decoder.add(message)
  return decoded
}

for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
  for (const [name, make] of PACKETS) {
    test(`numbers of every size reach a ${codec} client in ${name}: ${numbers.length} numbers, alone and together`, () => {
      const wrong = [...numbers, numbers].filter((value) => {
        const sent = make(value)
        return JSON.stringify(read(codec, sent).data) !== JSON.stringify(sent.data)
      })
      assert.deepEqual(wrong, [])
    })
  }
}
