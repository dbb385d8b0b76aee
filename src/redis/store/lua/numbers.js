/**
 * Numbers as C prints and reads them, for Redis and for Lua: with printf and strtod.
 */

const DECIMAL = /[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/iy
const HEX = /([-+]?)0x(?:([0-9a-f]+)\.?([0-9a-f]*)|\.([0-9a-f]+))(?:p([-+]?\d+))?/iy
const SPECIAL = /([-+]?)(?:(inf(?:inity)?)|nan(?:\(\w*\))?)/iy

/**
 * strtod without leading white space.
 * @param {string} text
 * @param {number} from
 * @returns {[number: number, end: number] | undefined} undefined: no number begins there
 */
export function readNumber (text, from) {
  HEX.lastIndex = SPECIAL.lastIndex = DECIMAL.lastIndex = from
  let match = HEX.exec(text)
  if (match) {
    const [, sign, whole = '', fraction = match[4] ?? '', , exponent = 0] = match
    const number = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(exponent) - 4 * fraction.length)
    return [sign === '-' ? -number : number, HEX.lastIndex]
  }
  match = DECIMAL.exec(text)
  if (match) return [Number(match[0]), DECIMAL.lastIndex]
  match = SPECIAL.exec(text)
  return match ? [match[2] ? (match[1] === '-' ? -Infinity : Infinity) : NaN, SPECIAL.lastIndex] : undefined
}

/**
 * A string as a number: white space around it is ignored, and a zero byte ends it.
 * @param {string} text
 * @returns {number | undefined} undefined: it is none
 */
export function parseNumber (text) {
  const zero = text.indexOf('\0')
  const [, number] = /** @type {string[]} */ (/^[ \t-\r]*([^]*?)[ \t-\r]*$/.exec(zero === -1 ? text : text.slice(0, zero)))
  const read = readNumber(number, 0)
  return read?.[1] === number.length ? read[0] : undefined
}

/** printf rounds halves to even, JavaScript upwards. @param {string} digits the last one came from a half */
const toEven = (digits) => digits.replace(/[13579](?=\D*$)/, (digit) => String(Number(digit) - 1))

/**
 * Whether x is exactly between two numbers with that many decimals.
 * @param {number} x
 * @param {number} decimals may be negative
 */
function isHalf (x, decimals) {
  if (decimals >= 0) {
    const scaled = x * 2 ** (decimals + 1)
    return Number.isInteger(scaled) && Math.abs(scaled % 2) === 1
  }
  return Number.isInteger(x) && BigInt(x) % 10n ** BigInt(-decimals) === 5n * 10n ** BigInt(-decimals - 1)
}

/** A number that is not negative as %.<decimals>f. @param {number} x @param {number} decimals */
function fixed (x, decimals) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'nan' : 'inf'
  if (x >= 1e21) return `${BigInt(x)}${decimals > 0 ? '.' + '0'.repeat(decimals) : ''}`
  const digits = x.toFixed(decimals)
  return isHalf(x, decimals) ? toEven(digits) : digits
}

/** The NaN of an x86 processor has the sign bit, and JavaScript shows none. @param {number} x */
const sign = (x) => x < 0 || Object.is(x, -0) || Number.isNaN(x) ? '-' : ''

/** printf's %.<decimals>f @param {number} x @param {number} decimals @returns {string} */
export const printFixed = (x, decimals) => sign(x) + fixed(Math.abs(x), decimals)

/**
 * printf's %.<digits>g
 * @param {number} number
 * @param {number} digits
 * @returns {string}
 */
export function printGeneral (number, digits) {
  if (Number.isSafeInteger(number) && Math.abs(number) < 10 ** digits && !Object.is(number, -0)) return String(number)
  const x = Math.abs(number)
  if (!Number.isFinite(x) || x === 0) return sign(number) + fixed(x, 0)
  const exponent = Number(/e(.+)/.exec(x.toExponential(25))?.[1])
  const [written, rounded] = x.toExponential(digits - 1).split('e')
  const power = Number(rounded)
  const isPlain = power >= -4 && power < digits
  const text = isPlain ? fixed(x, digits - 1 - power) : isHalf(x, digits - 1 - exponent) ? toEven(written) : written
  const short = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  return sign(number) + (isPlain ? short : `${short}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`)
}

/** A number as Lua prints it. @param {number} x @returns {string} */
export const printNumber = (x) => printGeneral(x, 14)
