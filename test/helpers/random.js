/**
 * Random numbers that repeat for the same seed, so that a failure can be reproduced (mulberry32).
 * @param {number} seed
 * @returns {() => number} 0 up to 1
 */
export function seededRandom (seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const TEXTS = [
  '',
  'a',
  'ü',
  '文書',
  '🖋',
  'x'.repeat(31),
  'x'.repeat(32),
  'x'.repeat(255),
  'x'.repeat(256),
  'ü'.repeat(40_000)
]
const NUMBERS = [
  0,
  1,
  -1,
  31,
  32,
  -32,
  -33,
  127, 128, 255, 256,
  -127,
  -128,
  -129,
  32767, 32768, 65535, 65536,
  -32768,
  -32769,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  -(2 ** 31),
  -(2 ** 31) - 1,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  0.5,
  -1e300,
  5e-324
]

/**
 * A typical message value, with lengths at which the msgpack format changes.
 * @param {() => number} random
 * @param {object} [options]
 * @param {number} [options.depth] levels of lists and objects
 * @param {unknown[]} [options.others] further values that may occur
 * @returns {unknown}
 */
export function randomValue (random, { depth = 4, others = [] } = {}) {
  const pick = (/** @type {unknown[]} */ list) => list[Math.floor(random() * list.length)]
  const kind = Math.floor(random() * (depth > 0 ? 9 : 6))
  if (kind <= 1) return pick(NUMBERS)
  if (kind <= 3) return pick(TEXTS)
  if (kind === 4) return pick([null, true, false])
  if (kind === 5) return others.length > 0 ? pick(others) : null
  const length = Number(pick([0, 1, 2, 3, 3, 15, 16]))
  if (kind === 6) return Array.from({ length }, () => randomValue(random, { depth: depth - 1, others }))
  return Object.fromEntries(
    Array.from({ length }, (_, i) => [
      `${pick(['', 'k', 'ü', 'x'.repeat(40)])}${i}`,
      randomValue(random, { depth: depth - 1, others })
    ])
  )
}
