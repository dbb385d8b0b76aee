/**
 * Hash slots of Redis Cluster (cluster specification, "Hash tags" and appendix A: CRC16, XMODEM). A command, a script
 * and a sharded SUBSCRIBE may only name keys and channels of one hash slot.
 */
const CRC = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** @param {number} crc @param {number} byte @returns {number} */
const step = (crc, byte) => ((crc << 8) & 0xffff) ^ CRC[(crc >> 8) ^ byte]

/** @param {string} key @returns {number} 0 to 16,383 */
export function hashSlot (key) {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  // an empty tag does not count
  const bytes = Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)
  let crc = 0
  for (const byte of bytes) crc = step(crc, byte)
  return crc & 16383
}

/** @param {number} i @param {number} bits @returns {number} a byte from `@` to `O`, of four bits of a number */
const letter = (i, bits) => 0x40 | (i >> bits & 15)

/**
 * @param {string} prefix
 * @returns {(slot: number) => string} a tag of each hash slot: the prefix and four letters. Each has four free bits,
 *   and CRC is linear, so they reach all
 */
export function tagsOf (prefix) {
  const begin = Buffer.from(prefix).reduce(step, 0)
  const found = new Uint16Array(16_384)
  for (let i = 0; i < 65_536; i++) {
    let crc = begin
    for (let bits = 12; bits >= 0; bits -= 4) crc = step(crc, letter(i, bits))
    found[crc & 16383] = i
  }
  return (slot) => prefix + String.fromCharCode(...[12, 8, 4, 0].map((bits) => letter(found[slot], bits)))
}

/**
 * @param {{ isCluster: boolean }} redis
 * @param {string} key
 * @returns {number} keys with the same number may share a call; always 0 with a single Redis
 */
export const slotIn = ({ isCluster }, key) => isCluster ? hashSlot(key) : 0

/**
 * Groups items that may share a call to Redis.
 *
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => number | string | undefined} slotOf hash slot, or the node that has it
 * @param {number} [limit] items in one group; default: any number
 * @returns {T[][]} items of one group keep their order
 */
export function groupBySlot (items, slotOf, limit = Infinity) {
  /** The current group of each hash slot. @type {Map<number | string | undefined, T[]>} */
  const open = new Map()
  /** @type {T[][]} */
  const groups = []
  for (const item of items) {
    const slot = slotOf(item)
    let group = open.get(slot)
    if (group === undefined || group.length === limit) {
      group = []
      groups.push(group)
      open.set(slot, group)
    }
    group.push(item)
  }
  return groups
}
