import { contentOf, endOf, fieldOf } from '../../wire/msgpack-walk.js'

/**
 * The head of a Socket.IO packet: enough to refuse it with a response, without decoding its data.
 *
 * @typedef {object} Head
 * @property {number} type Socket.IO's; -1: not found
 * @property {string} nsp
 * @property {number | undefined} id
 * @property {string} event '': not found
 * @property {number} attachments that follow
 */

/**
 * Packets of types 2, 3, 5 and 6: attachments, namespace, id, and the event's name unless it has escapes. A longer id
 * than that of any client is none: the answer would have another one.
 */
const HEAD = /^(?:([23])|([56])(\d{1,15})-)(?:(\/[^,]{0,256}),)?(?:(\d{1,15})(?!\d))?(?:\["([^"\\]{1,64})")?/

/** @param {string} text @returns {Head | undefined} undefined: another type, or not a packet */
export function jsonHead (text) {
  const head = HEAD.exec(text)
  if (head === null) return undefined
  const [, plain, binary, attachments, nsp, id, event] = head
  return {
    type: Number(plain ?? binary),
    nsp: nsp ?? '/',
    id: id === undefined ? undefined : Number(id),
    event: event ?? '',
    attachments: Number(attachments ?? 0)
  }
}

/** @param {string} text @returns {Head | undefined} of a CONNECT to the main namespace */
export const connectHead = (text) =>
  /^0(?!\/)/.test(text) ? { type: 0, nsp: '/', id: undefined, event: '', attachments: 0 } : undefined

/** @param {Buffer} bytes msgpack, not checked yet @returns {Head} */
export function msgpackHead (bytes) {
  const data = fieldOf(bytes, 0, 'data')
  return {
    type: numberAt(bytes, fieldOf(bytes, 0, 'type')) ?? -1,
    nsp: stringAt(bytes, fieldOf(bytes, 0, 'nsp')) ?? '',
    id: numberAt(bytes, fieldOf(bytes, 0, 'id')),
    event:
      data === undefined || contentOf(bytes, data).isMap ? '' : (stringAt(bytes, contentOf(bytes, data).begin) ?? ''),
    attachments: 0
  }
}

/**
 * @param {Buffer} bytes
 * @param {number | undefined} at
 * @returns {number | undefined} a non-negative integer
 */
function numberAt (bytes, at) {
  if (at === undefined || at >= bytes.length) return undefined
  const type = bytes[at]
  if (type <= 0x7f) return type
  if (type < 0xcc || type > 0xcf || endOf(bytes, at) - at !== 1 + (1 << (type - 0xcc))) return undefined
  return type === 0xcf ? Number(bytes.readBigUInt64BE(at + 1)) : bytes.readUIntBE(at + 1, 1 << (type - 0xcc))
}

/**
 * @param {Buffer} bytes
 * @param {number | undefined} at
 * @returns {string | undefined} of less than 256 bytes, as names of events and namespaces are
 */
function stringAt (bytes, at) {
  if (at === undefined) return undefined
  const isShort = (bytes[at] & 0xe0) === 0xa0
  if (!isShort && bytes[at] !== 0xd9) return undefined
  return bytes.toString('utf8', at + (isShort ? 1 : 2), endOf(bytes, at))
}
