/**
 * Slots of Redis Cluster (cluster specification, "Hash tags" and appendix A: CRC16, XMODEM).
 */
const CRC = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** @param {string} key @returns {number} 0 to 16,383 */
export function slotOf (key) {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  // an empty tag is none
  const bytes = Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ CRC[(crc >> 8) ^ byte]
  return crc & 16383
}
