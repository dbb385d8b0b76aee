/**
 * UTF-8 without TextEncoder, which React Native and older browsers lack. Half a surrogate pair has no UTF-8: it counts
 * and is written as U+FFFD.
 */

/** @param {string} text @returns {number} bytes */
export function utf8Length (text) {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const point = /** @type {number} */ (text.codePointAt(i))
    if (point > 0x7f) bytes += point > 0x7ff ? 2 : 1
    if (point > 0xffff) i++
  }
  return bytes
}
