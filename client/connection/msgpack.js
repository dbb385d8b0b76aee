import { utf8Length } from '../common/utf8.js'

/**
 * Encoder in place of that of socket.io-msgpack-parser, which changes some values on their way: it writes the whole
 * buffer behind a view (in browsers an object of numbers), an invalid Date as 1970, whole numbers from 2^64 on as other
 * numbers, and half a surrogate pair together with the next character. The format is the same.
 */

class Writer {
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #at = 0

  /** @param {unknown} value @returns {Uint8Array} */
  encode (value) {
    this.#value(value)
    return this.#bytes.subarray(0, this.#at)
  }

  /** @param {number} size @returns {number} where that many bytes are written */
  #room (size) {
    const at = this.#at
    this.#at += size
    if (this.#at > this.#bytes.length) {
      const bytes = new Uint8Array(this.#at * 2)
      bytes.set(this.#bytes)
      this.#bytes = bytes
      this.#view = new DataView(bytes.buffer)
    }
    return at
  }

  /** @param {number[]} bytes */
  #put (...bytes) {
    const at = this.#room(bytes.length)
    this.#bytes.set(bytes, at)
  }

  /** @param {any} value @returns {void} */
  #value (value) {
    switch (typeof value) {
      case 'string': return this.#text(value)
      case 'number': return this.#number(value)
      case 'boolean': return this.#put(value ? 0xc3 : 0xc2)
      case 'undefined': return this.#put(0xd4, 0, 0)
      case 'object': return this.#object(value)
      case 'bigint':
        // some pages give it a toJSON
        if (!('toJSON' in Object(value))) throw new TypeError('a BigInt cannot be sent: send its text')
        return this.#value(/** @type {any} */ (value).toJSON())
      default: return this.#put(0xc0) // as in JSON
    }
  }

  /** @param {any} value @returns {void} */
  #object (value) {
    if (value === null) return this.#put(0xc0)
    if (Array.isArray(value)) {
      this.#head(value.length, 0xdc, 0x90, 16)
      for (const item of value) this.#value(item)
      return
    }
    // of any window
    const kind = Object.prototype.toString.call(value)
    if (kind === '[object Date]') return this.#date(value.getTime())
    if (ArrayBuffer.isView(value)) return this.#binary(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (/ArrayBuffer\]$/.test(kind)) return this.#binary(new Uint8Array(value))
    if (/ (Blob|File)\]$/.test(kind)) throw new TypeError('a Blob cannot be sent with msgpack: send its arrayBuffer()')
    if (typeof value.toJSON === 'function') return this.#value(value.toJSON())
    const entries = Object.entries(value).filter(([, inner]) => !/^(function|symbol)$/.test(typeof inner))
    this.#head(entries.length, 0xde, 0x80, 16)
    for (const [key, inner] of entries) {
      this.#text(key)
      this.#value(inner)
    }
  }

  /** @param {number} ms */
  #date (ms) {
    if (Number.isNaN(ms)) return this.#put(0xc0) // as in JSON
    this.#put(0xd7, 0)
    this.#long(ms)
  }

  /** @param {Uint8Array} bytes */
  #binary (bytes) {
    this.#head(bytes.length, 0xc4)
    const at = this.#room(bytes.length)
    this.#bytes.set(bytes, at)
  }

  /** @param {number} value */
  #number (value) {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      this.#put(0xcb)
      const at = this.#room(8)
      this.#view.setFloat64(at, value)
    } else if (value >= -32 && value < 128) {
      this.#put(value & 0xff)
    } else {
      const negative = value < 0
      const size = [8, 16, 32].findIndex((bits) => negative ? value >= -(2 ** (bits - 1)) : value < 2 ** bits)
      this.#put((negative ? 0xd0 : 0xcc) + (size === -1 ? 3 : size))
      if (size === 0) this.#put(value & 0xff)
      else if (size === 1) this.#put((value >> 8) & 0xff, value & 0xff)
      else if (size === 2) this.#word(value)
      else this.#long(value)
    }
  }

  /** @param {number} value its lower 32 bits */
  #word (value) {
    const at = this.#room(4)
    this.#view.setUint32(at, value >>> 0)
  }

  /** @param {number} value 64 bits */
  #long (value) {
    this.#word(Math.floor(value / 2 ** 32))
    this.#word(value)
  }

  /**
   * @param {number} length
   * @param {number} type with a length of 8 bits; of lists and maps, of 16 bits
   * @param {number} [short] type that contains the length
   * @param {number} [below] maximum length of the short type, exclusive
   */
  #head (length, type, short = 0, below = 0) {
    if (length < below) return this.#put(short | length)
    const hasEight = type < 0xdc
    if (hasEight && length < 0x100) return this.#put(type, length)
    const sixteen = type + (hasEight ? 1 : 0)
    if (length < 0x10000) return this.#put(sixteen, length >> 8, length & 0xff)
    this.#put(sixteen + 1)
    this.#word(length)
  }

  /** @param {string} text */
  #text (text) {
    const length = utf8Length(text)
    this.#head(length, 0xd9, 0xa0, 32)
    let at = this.#room(length)
    const bytes = this.#bytes
    for (let i = 0; i < text.length; i++) {
      let point = /** @type {number} */ (text.codePointAt(i))
      if (point < 0x80) {
        bytes[at++] = point
        continue
      }
      if (point >= 0xd800 && point < 0xe000) point = 0xfffd
      if (point < 0x800) {
        bytes[at++] = 0xc0 | (point >> 6)
      } else {
        if (point < 0x10000) {
          bytes[at++] = 0xe0 | (point >> 12)
        } else {
          i++
          bytes[at++] = 0xf0 | (point >> 18)
          bytes[at++] = 0x80 | ((point >> 12) & 0x3f)
        }
        bytes[at++] = 0x80 | ((point >> 6) & 0x3f)
      }
      bytes[at++] = 0x80 | (point & 0x3f)
    }
  }
}

/** A packet that shows whether a parser is the stock one of msgpack; others are left alone. */
const PROBE = { type: 2, nsp: '/', data: ['probe', 1] }

/**
 * @param {any} stock the encoder of a parser
 * @returns {any} an encoder with the same format
 */
export function exactEncoder (stock) {
  const [message, ...more] = stock.encode(PROBE)
  const probe = new Writer().encode(PROBE)
  const isSame = more.length === 0 && typeof message !== 'string' &&
    String(new Uint8Array(message.buffer ?? message, message.byteOffset, message.byteLength)) === String(probe)
  if (!isSame) return stock
  return { encode: (/** @type {object} */ packet) => [new Writer().encode(packet)] }
}
