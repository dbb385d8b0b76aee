import { hash, timingSafeEqual } from 'node:crypto'

/**
 * Claims of tokens that are signed with a shared secret, the common ones only: their header says nothing but the
 * algorithm, they are not long, and they are valid. For all others the library is asked, which says why if it refuses.
 * Why not the library alone: docs/internals/decisions/0005-handshake.md.
 */

/** Of tokens that are longer, hashing is what they cost. Characters without the signature. */
const MAX_LENGTH = 4096
/** What follows the header. */
const PAYLOAD_AND_SIGNATURE = /^[\w-]+\.[\w-]+$/

/**
 * RFC 7518, 3.2, and FIPS 180-4: algorithm, hash, bytes of its block and of its digest.
 * @type {[string, string, number, number][]}
 */
const ALGORITHMS = [['HS256', 'sha256', 64, 32], ['HS384', 'sha384', 128, 48], ['HS512', 'sha512', 128, 64]]

/** @param {string} alg @returns {string[]} first parts of tokens, as issuers write them */
const plainHeaders = (alg) =>
  [{ alg, typ: 'JWT' }, { typ: 'JWT', alg }, { alg }].map((header) =>
    Buffer.from(JSON.stringify(header)).toString('base64url')
  )

/**
 * HMAC (RFC 2104) as two hashes in one call each: an Hmac object of Node's would cost twice as much, and the garbage
 * collector once more.
 */
class Mac {
  #digest
  #blockBytes
  #inner
  #outer
  #expected
  #given

  /** @param {string} secret @param {string} digest @param {number} blockBytes @param {number} digestBytes */
  constructor (secret, digest, blockBytes, digestBytes) {
    const bytes = Buffer.from(secret)
    const key = bytes.length > blockBytes ? Buffer.from(hash(digest, bytes, 'hex'), 'hex') : bytes
    this.#digest = digest
    this.#blockBytes = blockBytes
    this.#inner = Buffer.alloc(blockBytes + MAX_LENGTH)
    this.#outer = Buffer.alloc(blockBytes + digestBytes)
    for (let i = 0; i < blockBytes; i++) {
      const byte = key[i] ?? 0
      this.#inner[i] = byte ^ 0x36
      this.#outer[i] = byte ^ 0x5c
    }
    this.#expected = Buffer.alloc(Math.ceil(digestBytes * 8 / 6))
    this.#given = Buffer.alloc(this.#expected.length)
  }

  /**
   * In a time that does not depend on what the characters of the signature are.
   * @param {string} text ASCII, MAX_LENGTH characters at most
   * @param {string} signature ASCII
   * @returns {boolean}
   */
  signed (text, signature) {
    if (signature.length !== this.#given.length) return false
    const end = this.#blockBytes + this.#inner.write(text, this.#blockBytes)
    this.#outer.write(hash(this.#digest, this.#inner.subarray(0, end), 'binary'), this.#blockBytes, 'binary')
    this.#expected.write(hash(this.#digest, this.#outer, 'base64url'))
    this.#given.write(signature)
    return timingSafeEqual(this.#expected, this.#given)
  }
}

/**
 * @param {string} secret
 * @returns {(token: string) => object | undefined} the claims, their times not looked at; undefined: not a token of the
 *   common kind, or not a valid one
 */
export function createHmacReader (secret) {
  /** @type {Map<string, Mac>} by header: a token has no other choice of the algorithm */
  const macs = new Map()
  for (const [alg, ...sizes] of ALGORITHMS) {
    const mac = new Mac(secret, ...sizes)
    for (const header of plainHeaders(alg)) macs.set(header, mac)
  }

  return (token) => {
    const headerEnd = token.indexOf('.')
    const payloadEnd = token.lastIndexOf('.')
    const mac = macs.get(token.slice(0, headerEnd))
    if (mac === undefined || payloadEnd > MAX_LENGTH) return undefined
    if (
      !PAYLOAD_AND_SIGNATURE.test(token.slice(headerEnd + 1)) ||
      !mac.signed(token.slice(0, payloadEnd), token.slice(payloadEnd + 1))
    )
      return undefined
    return parseObject(Buffer.from(token.slice(headerEnd + 1, payloadEnd), 'base64url').toString())
  }
}

/** @param {string} json @returns {object | undefined} */
function parseObject (json) {
  try {
    const value = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
