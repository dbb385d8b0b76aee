import { InvalidArgumentError } from 'commander'

/** Values of options, as commander reads them: an error is a usage error. */

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 }

/** @param {string} text @returns {number} s */
export function seconds (text) {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (!Number(count)) throw new InvalidArgumentError('It is a number with s, m, h or d, as 15m.')
  return Number(count) * UNITS[/** @type {keyof typeof UNITS} */ (unit)]
}

/** @param {string} text @returns {number} */
export function count (text) {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a number above 0.')
  return Number(text)
}

/** @param {number} ms since 1970 @returns {string} time of day, UTC */
export const timeOf = (ms) => new Date(ms).toISOString().slice(11, 23)
