/**
 * Values that cost more than their size suggests.
 */

/** @param {string} text shorter than 32 characters @returns {Buffer} msgpack */
const short = (text) => Buffer.concat([Buffer.from([0xa0 | text.length]), Buffer.from(text)])

/**
 * A Socket.IO packet in the format of socket.io-msgpack-parser.
 * @param {number} type 0 CONNECT, 2 EVENT
 * @param {Buffer} data msgpack
 * @param {number} [id] of the acknowledgement, below 128
 */
export const packet = (type, data, id) =>
  Buffer.concat([
    Buffer.from([0x80 | (id === undefined ? 3 : 4)]),
    short('type'),
    Buffer.from([type]),
    short('nsp'),
    short('/'),
    short('data'),
    data,
    ...(id === undefined ? [] : [short('id'), Buffer.from([id])])
  ])

/**
 * An event with one argument `{ guid, event, data }`, as msgpack.
 * @param {string} event @param {string} guid @param {Buffer} data msgpack
 */
export const event = (event, guid, data) =>
  packet(2, Buffer.concat([Buffer.from([0x92]), short(event), signalOf(guid, data)]))

/**
 * A message of the plain protocol, as msgpack: `{ event, payload, id }`.
 * @param {string} event @param {Buffer} payload msgpack @param {number} id below 128
 */
export const plainMessage = (event, payload, id) => Buffer.concat([
  Buffer.from([0x83]), short('event'), short(event), short('payload'), payload, short('id'), Buffer.from([id])
])

/**
 * The argument `{ guid, event, data }` of a signal, as msgpack.
 * @param {string} guid @param {Buffer} data msgpack
 */
export const signalOf = (guid, data) => Buffer.concat([
  Buffer.from([0x83]), short('guid'), short(guid), short('event'), short('noise'), short('data'), data
])

/** The argument `{ guid }` as msgpack. @param {string} guid */
export const guidOf = (guid) => Buffer.concat([Buffer.from([0x81]), short('guid'), short(guid)])

/** @param {number} depth @returns {string} JSON */
export const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth)

/**
 * A map whose only key is an array in an array …: decoders join it to a string, once more at each level.
 * @param {number} depth @param {number} bytes of the innermost string
 */
export function nestedKeys (depth, bytes) {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  return Buffer.concat([
    Buffer.from([0x81]),
    Buffer.alloc(depth, 0x91),
    Buffer.from([0xdb]),
    length,
    Buffer.alloc(bytes, 'x'),
    Buffer.from([0xc0])
  ])
}

/** @param {number} count @returns {Buffer} an array of `count` empty maps */
export function emptyMaps (count) {
  const head = Buffer.from('dd00000000', 'hex')
  head.writeUInt32BE(count, 1)
  return Buffer.concat([head, Buffer.alloc(count, 0x80)])
}

/** @param {number} count @returns {Buffer} an array of `count` empty ArrayBuffers, as notepack writes them */
export function emptyBuffers (count) {
  const head = Buffer.from('dd00000000', 'hex')
  head.writeUInt32BE(count, 1)
  return Buffer.concat([head, Buffer.from('c70000'.repeat(count), 'hex')])
}
