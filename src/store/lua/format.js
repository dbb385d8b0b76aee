import { badArgument, numberAt, stringAt } from './arguments.js'
import { printFloat } from './numbers.js'
import { failure } from './values.js'

/** @param {number} x as a 64-bit integer of C */
const integer = (x) => {
  const whole = Math.trunc(x)
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? BigInt(whole) : -(2n ** 63n)
}

/** A number as an unsigned 64-bit integer of C. @param {number} x */
const natural = (x) => BigInt.asUintN(64, x >= 2 ** 63 ? x < 2 ** 64 ? BigInt(x) : 0n : integer(x))

/** @param {string} text */
const quote = (text) => `"${text.replace(/["\\\n\r\0]/g, (c) => c === '\r' ? '\\r' : c === '\0' ? '\\000' : `\\${c}`)}"`

/**
 * @param {string} sign '-' or ''
 * @param {string} prefix such as 0x
 * @param {string} digits
 * @param {string} flags
 * @param {number} width
 * @param {boolean} zeros whether the flag 0 counts
 */
function pad (sign, prefix, digits, flags, width, zeros) {
  const shown = sign || (flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '')
  const missing = width - shown.length - prefix.length - digits.length
  if (missing <= 0) return shown + prefix + digits
  if (flags.includes('-')) return shown + prefix + digits + ' '.repeat(missing)
  return zeros && flags.includes('0') ? shown + prefix + '0'.repeat(missing) + digits : ' '.repeat(missing) + shown + prefix + digits
}

/** @type {Record<string, { base: number, prefix: string }>} */
const UNSIGNED = { o: { base: 8, prefix: '' }, u: { base: 10, prefix: '' }, x: { base: 16, prefix: '0x' }, X: { base: 16, prefix: '0X' } }

/**
 * string.format
 * @param {...import('./table.js').Value} args
 */
export function format (...args) {
  const template = stringAt(args, 1, 'format')
  let given = 1
  let text = ''
  for (let i = 0; i < template.length; i++) {
    if (template[i] !== '%') {
      text += template[i]
      continue
    }
    if (template[++i] === '%') {
      text += '%'
      continue
    }
    if (++given > args.length) throw badArgument(given, 'format', 'no value')
    const [all, flags, width, , precision] = /** @type {RegExpExecArray} */ (
      /^([-+ #0]*)(\d{0,2})(\.(\d{0,2}))?/.exec(template.slice(i)))
    if (flags.length >= 6) throw failure('invalid format (repeated flags)')
    i += all.length
    const kind = template[i] ?? ''
    if (kind >= '0' && kind <= '9') throw failure('invalid format (width or precision too long)')
    const places = precision === undefined ? undefined : Number(precision)
    text += one(args, given, kind, flags, Number(width), places)
  }
  return text
}

/**
 * @param {import('./table.js').Value[]} args
 * @param {number} given number of the argument
 * @param {string} kind
 * @param {string} flags
 * @param {number} width
 * @param {number | undefined} precision
 * @returns {string}
 */
function one (args, given, kind, flags, width, precision) {
  switch (kind) {
    case 'c': {
      const code = Math.trunc(numberAt(args, given, 'format'))
      const text = pad('', '', String.fromCharCode(code === (code | 0) ? code & 255 : 0), flags.replace(/[+ ]/g, ''), width, false)
      // C ends a string with the zero byte
      return text.split('\0')[0]
    }
    case 'd': case 'i': {
      const value = integer(numberAt(args, given, 'format'))
      const digits = precision === 0 && value === 0n ? '' : String(value < 0n ? -value : value).padStart(precision ?? 0, '0')
      return pad(value < 0n ? '-' : '', '', digits, flags, width, precision === undefined)
    }
    case 'o': case 'u': case 'x': case 'X': {
      const { base, prefix } = UNSIGNED[kind]
      const value = natural(numberAt(args, given, 'format'))
      let digits = precision === 0 && value === 0n ? '' : value.toString(base).padStart(precision ?? 0, '0')
      if (kind === 'X') digits = digits.toUpperCase()
      if (kind === 'o' && flags.includes('#') && !digits.startsWith('0')) digits = `0${digits}`
      return pad('', flags.includes('#') && value !== 0n ? prefix : '', digits, flags.replace(/[+ ]/g, ''), width, precision === undefined)
    }
    case 'e': case 'E': case 'f': case 'g': case 'G': {
      const value = numberAt(args, given, 'format')
      const printed = printFloat(value, kind.toLowerCase(), precision ?? 6, flags.includes('#'))
      const digits = printed.replace('-', (sign, at) => at === 0 ? '' : sign)
      const text = pad(digits === printed ? '' : '-', '', digits, flags, width, Number.isFinite(value))
      return kind < 'a' ? text.toUpperCase() : text
    }
    case 'q': return quote(stringAt(args, given, 'format'))
    case 's': {
      const value = stringAt(args, given, 'format')
      if (precision === undefined && value.length >= 100) return value
      return pad('', '', value.split('\0')[0].slice(0, precision), flags.replace(/[+ ]/g, ''), width, false)
    }
  }
  if (kind === '') throw failure('invalid option \'%\' to \'format\'')
  throw failure(`invalid option '%${kind}' to 'format'`)
}
