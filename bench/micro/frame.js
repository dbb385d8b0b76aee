/**
 * Creating the frame of a record, once per record, codec and worker: spliced, as in inkcast, and decoded and
 * re-encoded, as in a stock server.
 */
import { createRequire } from 'node:module'
import { Encoder as MsgpackEncoder } from 'socket.io-msgpack-parser'
import { Encoder } from 'socket.io-parser'
import { systemRandom } from '../../src/base/common/random.js'
import { jsonMessage, msgpackMessage } from '../../src/wire/packet.js'
import { decodeEnvelope, encodeEnvelope } from '../../src/wire/envelope.js'
import { encodeMsgpack } from '../../src/wire/msgpack.js'
import { valueOf } from '../message.js'
import { META, publicationOf, runBenchmarks } from './run.js'

/** The version that Socket.IO uses. @type {{ frame: (data: Buffer, options: object) => Buffer[] }} */
const Sender = createRequire(import.meta.url)('ws').Sender

const value = valueOf(1, 1, 1)
const msgpack = encodeMsgpack(JSON.parse(String(value)))
const envelope = encodeEnvelope(publicationOf(value), Date.now(), systemRandom)
const encoder = new Encoder()
const msgpackEncoder = new MsgpackEncoder()
const packet = () => ({ type: 2, nsp: '/', data: ['message', JSON.parse(String(value)), META] })

await runBenchmarks('Frame of a 500 byte record', {
  'envelope from the bus, decoded': () => decodeEnvelope(envelope),
  'JSON, spliced': () => jsonMessage('message', value, META),
  'JSON, decoded and encoded (stock)': () =>
    Sender.frame(Buffer.from(`4${encoder.encode(packet())[0]}`), {
      fin: true,
      opcode: 1,
      mask: false,
      readOnly: false,
      rsv1: false
    }),
  'msgpack, spliced': () => msgpackMessage('message', msgpack, META),
  'msgpack for a JSON record, transcoded': () =>
    msgpackMessage('message', encodeMsgpack(JSON.parse(String(value))), META),
  'msgpack, decoded and encoded (stock), without a frame': () => msgpackEncoder.encode(packet())
})
