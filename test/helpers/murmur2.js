/** @param {string | Buffer} key @returns {number} as org.apache.kafka.common.utils.Utils.murmur2, made positive */
export function murmur2 (key) {
  const bytes = Buffer.from(/** @type {string} */ (key))
  const m = 0x5bd1e995
  let hash = (0x9747b28c ^ bytes.length) | 0
  let at = 0
  for (; at + 4 <= bytes.length; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), m)
    word = Math.imul(word ^ (word >>> 24), m)
    hash = Math.imul(hash, m) ^ word
  }
  const rest = bytes.length - at
  for (let i = rest - 1; i >= 0; i--) hash ^= bytes[at + i] << (8 * i)
  if (rest > 0) hash = Math.imul(hash, m)
  hash = Math.imul(hash ^ (hash >>> 13), m)
  return (hash ^ (hash >>> 15)) & 0x7fffffff
}
