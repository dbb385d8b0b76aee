/**
 * What happened in a world. The hash of two runs of a seed is the same, or something in it is not decided by the seed.
 */
export class Trace {
  #hash = 0x811c9dc5
  /** @type {string[]} */
  lines = []
  #keeps

  /** @param {boolean} keeps whether it keeps lines, for people */
  constructor (keeps) { this.#keeps = keeps }

  get hash () { return (this.#hash >>> 0).toString(16).padStart(8, '0') }

  /** @param {number} time @param {{ name: string } | null} process @param {string} kind */
  turn (time, process, kind) {
    this.#mix(time * 1000)
    for (let i = 0; i < kind.length; i++) this.#mix(kind.charCodeAt(i))
    if (this.#keeps) this.lines.push(`${time.toFixed(3)} ${process?.name ?? '-'} ${kind}`)
  }

  /** @param {number} time @param {string} text */
  note (time, text) { if (this.#keeps) this.lines.push(`${time.toFixed(3)} * ${text}`) }

  /** Bytes that arrive. @param {Buffer} bytes */
  bytes (bytes) {
    this.#mix(bytes.length)
    // Node's HTTP servers write the real time into the header Date: text responses count by their length
    if (bytes[0] === 0x48) return
    for (let i = 0; i < bytes.length; i++) this.#hash = Math.imul(this.#hash ^ bytes[i], 0x01000193)
  }

  /** @param {number} word */
  #mix (word) { this.#hash = Math.imul(this.#hash ^ (word | 0), 0x01000193) }
}
