/**
 * Ids of sessions and connections: 20 characters of A-Z a-z 0-9 - _, each one 6 bits, most significant first.
 *
 *   2 worker number | 7 time, ms since 1970 | 2 sequence | 9 random
 *
 * Unique like a snowflake, unguessable (54 random bits: an Engine.IO sid is a credential), and self-routing: any
 * process reads the owner off the first two characters.
 */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const SESSION_ID = /^[A-Za-z0-9_-]{20}$/

/** Upper bound of worker numbers: two characters. */
export const MAX_WORKERS = 4096
const SEQUENCES = 4096
/** Ids per system call for random bytes; a call for each id would cost more than the rest. */
const POOLED_IDS = 128
const RANDOM_DIGITS = 9

/** @type {string[]} all pairs of characters, by their number */
const PAIRS = Array.from({ length: 4096 }, (_, number) => DIGITS[number >> 6] + DIGITS[number & 63])
/** @type {Map<string, number>} */
const NUMBERS = new Map(PAIRS.map((pair, number) => [pair, number]))

/**
 * @param {number} workerNumber 0 to 4,095
 * @param {object} sources
 * @param {Pick<import('../base/common/clock.js').Clock, 'now'>} sources.clock
 * @param {Pick<import('../base/common/random.js').Random, 'bytes'>} sources.random unguessable
 * @returns {() => string} makes a new id with each call
 * @throws {RangeError} for a number that does not fit
 */
export function createSessionIds (workerNumber, { clock, random }) {
  if (!Number.isInteger(workerNumber) || workerNumber < 0 || workerNumber >= MAX_WORKERS) {
    throw new RangeError(`worker number ${workerNumber} is not between 0 and ${MAX_WORKERS - 1}`)
  }
  const worker = PAIRS[workerNumber]
  // encoded all at once: a string concatenated digit by digit is flattened when it becomes a key
  let digits = ''
  let used = 0
  let sequence = 0
  let lastTime = -1
  let prefix = ''

  return () => {
    const now = clock.now()
    if (now !== lastTime) {
      lastTime = now
      prefix = worker + timeDigits(now)
    }
    // It runs on across milliseconds: more than 4,096 ids within one still differ in their random part.
    sequence = (sequence + 1) % SEQUENCES
    if (used === digits.length) {
      const drawn = random.bytes(RANDOM_DIGITS * POOLED_IDS).map((byte) => DIGITS.charCodeAt(byte & 63))
      digits = Buffer.from(drawn).toString('latin1')
      used = 0
    }
    const start = used
    used += RANDOM_DIGITS
    return prefix + PAIRS[sequence] + digits.slice(start, used)
  }
}

/** @param {number} ms @returns {string} 7 characters; they last until the year 2109 */
function timeDigits (ms) {
  let digits = ''
  for (let rest = ms, i = 0; i < 7; i++, rest = Math.floor(rest / 64)) digits = DIGITS[rest % 64] + digits
  return digits
}

/** @param {unknown} id @returns {id is string} */
const isSessionId = (id) => typeof id === 'string' && SESSION_ID.test(id)

/**
 * @param {string} sid
 * @returns {number | undefined} number of the worker that made this id; undefined for other ids
 */
export const workerOfSid = (sid) => isSessionId(sid) ? NUMBERS.get(sid.slice(0, 2)) : undefined

/** @param {number} workerNumber @returns {string} prefix of its ids */
export const prefixOfWorker = (workerNumber) => PAIRS[workerNumber]

/**
 * @param {string} sid
 * @returns {number} when it was made, ms since 1970
 */
export function timeOfSid (sid) {
  let time = 0
  for (let i = 2; i < 9; i++) time = time * 64 + DIGITS.indexOf(sid[i])
  return time
}
