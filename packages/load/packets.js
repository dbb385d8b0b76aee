/**
 * Socket.IO packets of a light client, in JSON and MessagePack. Of a record of the load only the numbers are decoded.
 */
import { decode, encode } from '@msgpack/msgpack'

/**
 * @typedef {object} LoadRecord
 * @property {string} run
 * @property {number} number of the record, from 1
 * @property {number} at ms since 1970
 * @property {number} document its number; -1: to everyone
 * @property {number | undefined} offset
 * @property {number | undefined} ack id of the requested acknowledgement
 *
 * @typedef {{ kind: 'record', record: LoadRecord } | { kind: 'connected' } | { kind: 'refused', reason: string } |
 *   { kind: 'event', event: string, data: any } | { kind: 'disconnected' } | { kind: 'other' }} Packet
 *
 * @typedef {object} PacketCodec
 * @property {(auth: object) => string | Buffer} connect
 * @property {(id: number) => string | Buffer} ack
 * @property {(event: string, data: object) => string | Buffer} event
 * @property {(content: Buffer, binary: boolean) => Packet} read
 */

/** Event of the records. */
export const EVENT = 'load'
const HEAD = /^42(\d*)\["load",(?=\{"run":)/
const VALUE = /^\{"run":"(\w+)","n":(\d+),"at":([\d.]+),"doc":(-?\d+)/
const HEAD_BYTES = 120
const TAIL_BYTES = 240
const OFFSET = /"offset":(\d+)/

/**
 * @param {{ run: string, number: number, at: number, document: number, size: number }} record size: bytes of the value
 * @returns {string} value of the record, in the form that `read` expects
 */
export function valueOf ({ run, number, at, document, size }) {
  const head = `{"run":"${run}","n":${number},"at":${at.toFixed(3)},"doc":${document},"pad":"`
  return `${head}${'x'.repeat(Math.max(0, size - head.length - 2))}"}`
}

/**
 * @param {Buffer} content of a message with a record
 * @param {number} begin of its value
 * @param {RegExp} [ack] finds the id of the requested acknowledgement behind the value
 * @returns {LoadRecord | undefined} undefined: its value is not of this tool
 */
export function recordOf (content, begin, ack) {
  const found = VALUE.exec(content.toString('latin1', begin, begin + HEAD_BYTES))
  if (found === null) return undefined
  const [, run, number, at, document] = found
  const tail = content.toString('latin1', Math.max(begin, content.length - TAIL_BYTES))
  const numberIn = (/** @type {RegExp} */ form) => {
    const text = form.exec(tail)?.[1]
    return text === undefined ? undefined : Number(text)
  }
  return {
    run,
    number: Number(number),
    at: Number(at),
    document: Number(document),
    offset: numberIn(OFFSET),
    ack: ack && numberIn(ack)
  }
}

/** @type {PacketCodec} */
const json = {
  connect: (auth) => `40${JSON.stringify(auth)}`,
  ack: (id) => `43${id}[]`,
  event: (event, data) => `42${JSON.stringify([event, data])}`,
  read (content) {
    const found = HEAD.exec(content.toString('latin1', 0, HEAD_BYTES))
    const record = found === null ? undefined : recordOf(content, found[0].length)
    if (record !== undefined) return { kind: 'record', record: { ...record, ack: found?.[1] ? Number(found[1]) : undefined } }
    const text = content.toString()
    if (text.startsWith('40')) return { kind: 'connected' }
    if (text.startsWith('44')) return { kind: 'refused', reason: JSON.parse(text.slice(2))?.message ?? 'refused' }
    if (text.startsWith('41')) return { kind: 'disconnected' }
    const event = /^42\d*(\[.*)$/s.exec(text)
    if (event === null) return { kind: 'other' }
    const [name, data] = JSON.parse(event[1])
    return { kind: 'event', event: name, data }
  }
}

const CONNECT = 0
const DISCONNECT = 1
const EVENT_PACKET = 2
const ACK = 3
const CONNECT_ERROR = 4

/** @param {unknown} packet */
const packed = (packet) => Buffer.from(encode(packet))

/** @type {PacketCodec} */
const msgpack = {
  connect: (auth) => packed({ type: CONNECT, nsp: '/', data: auth }),
  ack: (id) => packed({ type: ACK, nsp: '/', data: [], id }),
  event: (event, data) => packed({ type: EVENT_PACKET, nsp: '/', data: [event, data] }),
  read (content, binary) {
    if (!binary) return { kind: 'other' }
    const { type, data, id } = /** @type {any} */ (decode(content))
    if (type === CONNECT) return { kind: 'connected' }
    if (type === DISCONNECT) return { kind: 'disconnected' }
    if (type === CONNECT_ERROR) return { kind: 'refused', reason: data?.message ?? 'refused' }
    if (type !== EVENT_PACKET) return { kind: 'other' }
    const [event, value, meta] = data
    if (event !== EVENT || typeof value?.run !== 'string') return { kind: 'event', event, data: value }
    const { run, n: number, at, doc: document } = value
    return { kind: 'record', record: { run, number, at, document, offset: meta?.offset, ack: id } }
  }
}

/** @param {boolean} binary MessagePack in place of JSON @returns {PacketCodec} */
export const packetCodec = (binary) => binary ? msgpack : json

/** @returns {number} ms since 1970, with fractions, for latencies between processes of one machine */
export const preciseNow = () => performance.timeOrigin + performance.now()
