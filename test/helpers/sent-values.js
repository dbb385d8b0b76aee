/**
 * Values that stock encoders change, and how they arrive: for tests in Node and in browsers, so without modules of
 * Node.
 *
 * @typedef {'json' | 'msgpack'} Codec
 * @typedef {{ from: Codec, to: Codec, wellFormed?: boolean }} Ways wellFormed: texts pass through UTF-8
 */

/** Lengths at which the msgpack format changes. */
const LENGTHS = [0, 1, 33, 255, 256, 65_536]
/** Half of a surrogate pair at each end, in the middle, twice, in the wrong order, and whole pairs. */
const TEXTS = [
  'a\ud800b', '\udc00', 'x\ud83d', '\ud83d\ud83d\ude00', '\ude00\ud83d', '😀', 'ü€😀', '\u0000', '\uffff', 'ÿ'.repeat(40) + '\ud800',
  '😀'.repeat(20), ''
]
const TIMES = [0, 1, -1, 999, 1_700_000_000_000, -62_135_596_800_000, 2 ** 32, -(2 ** 32) - 1, 8.64e15, -8.64e15, NaN]
const NUMBERS = [
  2 ** 53, -(2 ** 53), 2 ** 63, -(2 ** 63), -(2 ** 63) - 2048, 2 ** 64 - 2048, 2 ** 64, -(2 ** 64), 1e21, 1e300, -1e300,
  Number.MAX_VALUE, 5e-324, 0.1
]

/** @param {number} length @returns {Uint8Array} in the middle of a larger buffer, at an odd offset */
function inside (length) {
  const buffer = new Uint8Array(length + 40).fill(0xee)
  const view = buffer.subarray(13, 13 + length)
  for (let i = 0; i < length; i++) view[i] = (i * 7 + length) % 251
  return view
}

/** Kinds of bytes by name; a length that is no multiple of their items is rounded down. */
const BYTES = Object.entries(/** @type {Record<string, (bytes: Uint8Array) => any>} */ ({
  'a view at an offset': (bytes) => bytes,
  'a Uint8Array': (bytes) => bytes.slice(),
  'an ArrayBuffer': (bytes) => bytes.slice().buffer,
  'a DataView': ({ buffer, byteOffset, byteLength }) => new DataView(buffer, byteOffset, byteLength),
  'an Int8Array': ({ buffer, byteOffset, byteLength }) => new Int8Array(buffer, byteOffset, byteLength),
  'a Uint8ClampedArray': ({ buffer, byteOffset, byteLength }) => new Uint8ClampedArray(buffer, byteOffset, byteLength),
  'a Uint16Array at an offset': (bytes) => new Uint16Array(aligned(bytes), 8, bytes.length >> 1),
  'a Float32Array at an offset': (bytes) => new Float32Array(aligned(bytes), 8, bytes.length >> 2),
  'a Float64Array at an offset': (bytes) => new Float64Array(aligned(bytes), 8, bytes.length >> 3),
  'a BigInt64Array at an offset': (bytes) => new BigInt64Array(aligned(bytes), 8, bytes.length >> 3),
  ...(typeof Buffer === 'function' && { 'a Buffer of the pool': (bytes) => Buffer.from(bytes) })
}))

/** @param {Uint8Array} bytes @returns {ArrayBuffer} with 8 other bytes before and after them */
function aligned (bytes) {
  const all = new Uint8Array(bytes.length + 16).fill(0xee)
  all.set(bytes, 8)
  return all.buffer
}

/** @returns {{ name: string, value: any }[]} */
export function sentValues () {
  const bytes = BYTES.flatMap(([name, make]) => LENGTHS.map((length) => ({ name: `${name} of ${length}`, value: make(inside(length)) })))
  const plain = plainValues()
  return [
    ...bytes,
    ...bytes.filter((_, i) => i % 5 === 0).map(({ name, value }) =>
      ({ name: `${name} in an object`, value: { before: 'ü', bytes: value, list: [1, value, { at: new Date(5) }], after: -40 } })),
    ...plain,
    { name: 'all others in one', value: { list: plain.map(({ value }) => value), nested: { deep: plain.at(3)?.value } } }
  ]
}

/** @returns {{ name: string, value: any }[]} without bytes, which a presence state may not contain */
export function plainValues () {
  return [
    ...TEXTS.map((value) => ({ name: `the text ${JSON.stringify(value)}`, value })),
    ...TEXTS.slice(0, 6).map((text) => ({ name: `the key ${JSON.stringify(text)}`, value: { [text]: 1 } })),
    ...TIMES.map((time) => ({ name: `the Date ${time}`, value: new Date(time) })),
    ...NUMBERS.map((value) => ({ name: `the number ${value}`, value })),
    { name: 'an object with toJSON', value: { at: { toJSON: () => ({ year: 1970 }) } } }
  ]
}

/**
 * A text of a value as it arrives.
 * @param {any} value
 * @param {Ways} [ways] undefined: the value has arrived
 * @returns {string}
 */
export function shown (value, ways) {
  const text = (/** @type {string} */ text) =>
    JSON.stringify(ways?.from === 'msgpack' || ways?.to === 'msgpack' || ways?.wellFormed ? text.toWellFormed() : text)
  const kind = Object.prototype.toString.call(value)
  if (kind === '[object ArrayBuffer]') return hex(new Uint8Array(value))
  if (ArrayBuffer.isView(value)) return hex(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  if (kind === '[object Date]') {
    if (Number.isNaN(value.getTime())) return 'null'
    return ways?.from === 'json' || ways?.to === 'json' ? text(value.toISOString()) : `Date ${value.getTime()}`
  }
  if (Array.isArray(value)) return `[${value.map((item) => shown(item, ways)).join()}]`
  if (typeof value?.toJSON === 'function') return shown(value.toJSON(), ways)
  if (kind === '[object Object]')
    return `{${Object.entries(value).map(([key, inner]) => `${text(key)}:${shown(inner, ways)}`).join()}}`
  return typeof value === 'string' ? text(value) : String(value)
}

/** @param {Uint8Array} bytes */
function hex (bytes) {
  let sum = 0
  for (const byte of bytes) sum = (sum * 31 + byte) % 1_000_003
  return `${bytes.length} bytes ${[...bytes.slice(0, 40)].map((byte) => byte.toString(16).padStart(2, '0')).join('')} ${sum}`
}
