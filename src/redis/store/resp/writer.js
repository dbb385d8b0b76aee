import { Double, ErrorReply, MapReply, NullArray, Push, SetReply, Status, Verbatim } from './replies.js'
import { printGeneral } from '../lua/numbers.js'

/** @typedef {import('./replies.js').Reply} Reply */

/**
 * @param {Reply} reply
 * @param {2 | 3} resp version of the protocol
 * @returns {string} its bytes
 */
export function encode (reply, resp) {
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if (typeof reply === 'number' || typeof reply === 'bigint') return `:${reply}\r\n`
  if (reply === null) return resp === 3 ? '_\r\n' : '$-1\r\n'
  if (Array.isArray(reply)) return encodeAll('*', reply, resp)
  if (reply instanceof Status) return `+${reply.text}\r\n`
  if (reply instanceof ErrorReply) return `-${reply.message.replace(/[\r\n]+$/, '').replace(/[\r\n]/g, ' ')}\r\n`
  if (reply instanceof Push) return encodeAll(resp === 3 ? '>' : '*', reply.items, resp)
  if (reply instanceof MapReply)
    return encodeAll(resp === 3 ? '%' : '*', reply.flat, resp, resp === 3 ? reply.flat.length / 2 : undefined)
  if (reply instanceof SetReply) return encodeAll(resp === 3 ? '~' : '*', reply.items, resp)
  if (reply instanceof Double) {
    const text = printGeneral(reply.value, 17)
    return resp === 3 ? `,${text}\r\n` : encode(text, resp)
  }
  if (reply instanceof Verbatim)
    return resp === 3 ? `=${reply.text.length + 4}\r\ntxt:${reply.text}\r\n` : encode(reply.text, resp)
  if (reply instanceof NullArray) return resp === 3 ? '_\r\n' : '*-1\r\n'
  throw new TypeError('not a reply')
}

/**
 * @param {string} mark
 * @param {Reply[]} items
 * @param {2 | 3} resp
 * @param {number} [count]
 */
function encodeAll (mark, items, resp, count = items.length) {
  let text = `${mark}${count}\r\n`
  for (const item of items) text += encode(item, resp)
  return text
}
