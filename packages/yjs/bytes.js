/**
 * The bytes of a record: a Buffer in Node, an ArrayBuffer in browsers, a Uint8Array of a msgpack client

 *
 * @param {unknown} payload
 * @returns {Uint8Array | null} null: it is not binary
 */
export function toBytes (payload) {
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload)
  if (ArrayBuffer.isView(payload)) return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
  return null
}

/**
 * Writes an awareness update of one client, in the format of y-protocols: the number of clients, then for each one its
 * id, clock and state, lengths and numbers as variable-length integers.
 *
 * @param {number} client
 * @param {number} clock
 * @param {object | null} state
 * @returns {Uint8Array}
 */
export function encodeAwareness (client, clock, state) {
  const text = new TextEncoder().encode(JSON.stringify(state))
  return Uint8Array.from([1, ...varint(client), ...varint(clock), ...varint(text.length), ...text])
}

/** @param {number} value up to 2^53 @returns {number[]} seven bits a byte, the lowest first */
function varint (value) {
  const bytes = []
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 + 128)
  return [...bytes, value]
}
