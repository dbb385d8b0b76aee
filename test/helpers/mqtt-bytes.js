/**
 * CONNECT packets of any form, right or wrong, and other bytes that no library writes.
 */

/** @param {string | number[]} value @returns {number[]} a text with its length */
export const text = (value) => {
  const bytes = [...Buffer.from(/** @type {any} */ (value))]
  return [bytes.length >> 8, bytes.length & 255, ...bytes]
}

/** @param {number} type first byte @param {number[]} body below 128 bytes @returns {Buffer} */
export const packet = (type, body) => Buffer.from([type, body.length, ...body])

/** Flags of CONNECT. */
export const Flag = { RESERVED: 1, CLEAN: 2, WILL: 4, QOS_1: 8, QOS_3: 24, RETAIN: 32, PASSWORD: 64, USERNAME: 128 }

/**
 * @param {object} parts
 * @param {4 | 5} parts.version
 * @param {number} [parts.flags]
 * @param {string} [parts.name] of the protocol
 * @param {number[]} [parts.properties] of version 5
 * @param {number[][]} [parts.payload] fields, default: a client id
 * @returns {Buffer}
 */
export function connectBytes ({ version, flags = Flag.CLEAN, name = 'MQTT', properties = [], payload = [text('raw')] }) {
  return packet(0x10, [
    ...text(name), version, flags, 0, 0, ...version === 5 ? [properties.length, ...properties] : [], ...payload.flat()
  ])
}
