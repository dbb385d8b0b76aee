/**
 * Walks through msgpack that checkMsgpack has accepted, without decoding it.
 * Formats: https://github.com/msgpack/msgpack/blob/master/spec.md
 */

/**
 * By first byte minus 0xc4: bytes of the length that follows, and further bytes that it does not include.
 * @type {readonly (readonly [number, number])[]}
 */
const SIZES = [
  [1, 0], [2, 0], [4, 0], // bin
  [1, 1], [2, 1], [4, 1], // ext, with its type
  [0, 4], [0, 8], // float
  [0, 1], [0, 2], [0, 4], [0, 8], // uint
  [0, 1], [0, 2], [0, 4], [0, 8], // int
  [0, 2], [0, 3], [0, 5], [0, 9], [0, 17], // fixext, with its type
  [1, 0], [2, 0], [4, 0] // str
]

/**
 * @param {Buffer} bytes
 * @param {number} at where a value begins
 * @param {(at: number) => void} [onExtension] called with the start of each extension
 * @returns {number} where it ends; the end of the bytes if they end too early
 */
export function endOf (bytes, at, onExtension) {
  for (let pending = 1; pending > 0 && at < bytes.length; pending--) {
    const type = bytes[at]
    if (type > 0x7f && type < 0xe0 && !(type >= 0xc0 && type <= 0xc3)) {
      if (type <= 0x9f || type >= 0xdc) {
        const { count, begin } = contentOf(bytes, at)
        pending += count
        at = begin
        continue
      }
      if (type <= 0xbf) {
        at += 1 + (type & 0x1f)
        continue
      }
      if (onExtension !== undefined && isExtension(type)) onExtension(at)
      const [size, more] = SIZES[type - 0xc4]
      at += 1 + size + more + (size === 0 || at + size >= bytes.length ? 0 : bytes.readUIntBE(at + 1, size))
    } else at++
  }
  return Math.min(at, bytes.length)
}

/** @param {number} type first byte of a value */
const isExtension = (type) => (type >= 0xc7 && type <= 0xc9) || (type >= 0xd4 && type <= 0xd8)

/**
 * @param {Buffer} bytes
 * @param {number} at where a list or a map begins
 * @returns {{ isMap: boolean, count: number, begin: number }} how many values it has, keys included, and where the
 *   first one begins; none for another kind of value
 */
export function contentOf (bytes, at) {
  const type = bytes[at]
  if (type >= 0x80 && type <= 0x8f) return { isMap: true, count: 2 * (type & 0x0f), begin: at + 1 }
  if (type >= 0x90 && type <= 0x9f) return { isMap: false, count: type & 0x0f, begin: at + 1 }
  if (type < 0xdc || type > 0xdf) return { isMap: false, count: 0, begin: at }
  const isMap = type >= 0xde
  const size = type % 2 === 0 ? 2 : 4
  if (at + size >= bytes.length) return { isMap, count: 0, begin: bytes.length }
  return { isMap, count: bytes.readUIntBE(at + 1, size) * (isMap ? 2 : 1), begin: at + 1 + size }
}

/**
 * @param {Buffer} bytes
 * @param {number} at where a map begins
 * @param {string} name short
 * @returns {number | undefined} where the value of its last field of that name begins, which is the one that counts
 */
export function fieldOf (bytes, at, name) {
  const { isMap, count, begin } = contentOf(bytes, at)
  if (!isMap) return undefined
  let found
  at = begin
  for (let i = 0; i < count && at < bytes.length; i += 2) {
    const value = endOf(bytes, at)
    if (
      value - at > name.length &&
      value - at <= name.length + 5 &&
      bytes.toString('latin1', value - name.length, value) === name &&
      isString(bytes, at, name.length)
    )
      found = value
    at = endOf(bytes, value)
  }
  return found
}

/** @param {Buffer} bytes @param {number} at @param {number} length whether a string of this length begins there */
function isString (bytes, at, length) {
  const type = bytes[at]
  if (type >= 0xa0 && type <= 0xbf) return (type & 0x1f) === length
  return type >= 0xd9 && type <= 0xdb && bytes.readUIntBE(at + 1, 1 << (type - 0xd9)) === length
}
