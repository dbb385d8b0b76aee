/**
 * Numbers as C prints and reads them: Lua's `tostring`, `tonumber` and `string.format` come from printf and strtod.
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

/** %e of a number that is not negative. @param {number} x @param {number} precision */
function exponential (x, precision) {
  const exponent = x === 0 ? 0 : Number(/e(.+)/.exec(x.toExponential(25))?.[1])
  const [digits, rounded] = x.toExponential(precision).split('e')
  return { digits: isHalf(x, precision - exponent) ? toEven(digits) : digits, exponent: Number(rounded) }
}

/** %f of a number that is not negative. @param {number} x @param {number} precision */
function fixed (x, precision) {
  if (x >= 1e21) return `${BigInt(x)}${precision > 0 ? '.' + '0'.repeat(precision) : ''}`
  const digits = x.toFixed(precision)
  return isHalf(x, precision) ? toEven(digits) : digits
}

/**
 * @param {number} x not negative
 * @param {string} kind one of e, f, g
 * @param {number} precision
 * @param {boolean} alternative with the flag #
 */
function unsigned (x, kind, precision, alternative) {
  if (Number.isNaN(x)) return 'nan'
  if (x === Infinity) return 'inf'
  if (kind === 'f') return fixed(x, precision) + (alternative && precision === 0 ? '.' : '')
  const significant = kind === 'g' ? Math.max(precision, 1) - 1 : precision
  const { digits, exponent } = exponential(x, significant)
  let text = digits
  const small = kind === 'g' && exponent >= -4 && exponent <= significant
  if (small) text = fixed(x, significant - exponent)
  if (kind === 'g' && !alternative && text.includes('.')) text = text.replace(/\.?0+$/, '')
  if (alternative && !text.includes('.')) text += '.'
  return small ? text : `${text}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/**
 * %e, %f and %g of printf, without a width.
 * @param {number} x
 * @param {string} kind one of e, f, g
 * @param {number} precision
 * @param {boolean} [alternative] with the flag #
 * @returns {string}
 */
export function printFloat (x, kind, precision, alternative = false) {
  // the NaN of an x86 processor has the sign bit, and JavaScript shows none
  const negative = x < 0 || Object.is(x, -0) || Number.isNaN(x)
  return (negative ? '-' : '') + unsigned(Math.abs(x), kind, precision, alternative)
}

/** A number as Lua prints it: %.14g. @param {number} x @returns {string} */
export const printNumber = (x) =>
  Number.isInteger(x) && x < 1e14 && x > -1e14 && (x !== 0 || 1 / x > 0) ? String(x) : printFloat(x, 'g', 14)
