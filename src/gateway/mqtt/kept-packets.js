/** Packets of one kind of clients that are equal but for what they say: each is encoded once. */

/** Further ones are encoded each time. */
const MAX = 16

export class KeptPackets {
  /** @type {Map<string, Buffer>} */
  #packets = new Map()

  /** @param {string} key what the packet says @param {() => Buffer} encode @returns {Buffer} */
  get (key, encode) {
    const known = this.#packets.get(key)
    if (known !== undefined) return known
    const bytes = encode()
    if (this.#packets.size < MAX) this.#packets.set(key, bytes)
    return bytes
  }
}
