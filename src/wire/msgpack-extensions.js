import { createRequire } from 'node:module'
import { endOf } from './msgpack-walk.js'

const require = createRequire(import.meta.url)
const { encode, ExtData, ExtensionCodec } = require('@msgpack/msgpack')

/**
 * How socket.io-msgpack-parser's clients encode values that msgpack has no type for, all as extension type 0
 * (notepack.io 2.2): a Date is a fixext 8 with its milliseconds, `undefined` a fixext 1, an ArrayBuffer an ext with its
 * bytes (in Node; browsers send binary).
 */

const [EXT_8, EXT_32, BIN_8] = [0xc7, 0xc9, 0xc4]
const [FIXEXT_1, FIXEXT_8, NIL] = [0xd4, 0xd7, 0xc0]

/**
 * @param {Buffer} bytes one value, checked
 * @returns {Buffer} a copy, in which ArrayBuffers are binary, which every decoder understands
 */
export const withoutArrayBuffers = (bytes) => Buffer.from(rewrite(bytes, (at, type) => {
  if (type < EXT_8 || type > EXT_32) return undefined
  const size = 1 << (type - EXT_8)
  if (bytes[at + 1 + size] !== 0) return undefined
  const head = Buffer.from(bytes.subarray(at, at + 1 + size))
  head[0] = type - EXT_8 + BIN_8
  return [head, bytes.subarray(at + 2 + size, endOf(bytes, at))]
}))

/**
 * For services, which read msgpack with any library: Dates are timestamps
 * (https://github.com/msgpack/msgpack/blob/master/spec.md#timestamp-extension-type), `undefined` is nil.
 * @param {Buffer} bytes one value, checked
 * @returns {Buffer} the same if there are none
 */
export const withStandardDates = (bytes) => rewrite(bytes, (at, type) => {
  if (bytes[at + 1] !== 0) return undefined
  if (type === FIXEXT_1) return [Buffer.from([NIL])]
  if (type !== FIXEXT_8) return undefined
  return [timestamp(bytes.readInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6))]
})

/**
 * @param {Buffer} bytes
 * @param {(at: number, type: number) => Uint8Array[] | undefined} replace new bytes of an extension;
 *   undefined: keep it
 * @returns {Buffer} the same if nothing was replaced
 */
function rewrite (bytes, replace) {
  /** @type {Uint8Array[]} */
  const parts = []
  let kept = 0
  endOf(bytes, 0, (at) => {
    const parted = replace(at, bytes[at])
    if (parted === undefined) return
    parts.push(bytes.subarray(kept, at), ...parted)
    kept = endOf(bytes, at)
  })
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(kept)])
}

/** @param {number} ms since 1970 @returns {Uint8Array} */
function timestamp (ms) {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? Buffer.from([NIL]) : encode(date)
}

/**
 * Decodes extensions for JSON clients: a Date as Date, which becomes text in JSON, others as `{ type, data }`.
 */
export const extensionCodec = new ExtensionCodec()
extensionCodec.register({
  type: 0,
  encode: () => null,
  decode (data) {
    if (data.length === 1) return undefined
    if (data.length !== 8) return new ExtData(0, data)
    const view = new DataView(data.buffer, data.byteOffset)
    return new Date(view.getInt32(0) * 2 ** 32 + view.getUint32(4))
  }
})

/**
 * The way back, for socket.io-msgpack-parser's clients: a Date as they read it.
 * @type {import('@msgpack/msgpack').ExtensionCodecType<undefined>}
 */
export const stockExtensions = {
  tryToEncode (value) {
    if (!(value instanceof Date)) return null
    const data = new Uint8Array(8)
    const view = new DataView(data.buffer)
    view.setInt32(0, Math.floor(value.getTime() / 2 ** 32))
    view.setUint32(4, value.getTime() >>> 0)
    return new ExtData(0, data)
  },
  decode: (data, type) => new ExtData(type, data)
}
