/** Figures as the page shows them. */

/** @param {number} share 0 to 1 */
export const percent = (share) => `${Math.round(share * 100)} %`

/** @param {number} value */
export const number = (value) => Math.round(value).toLocaleString('en-US')

/** @param {number} value @returns {string} three digits, or all of a larger number */
export const short = (value) => value >= 100 ? number(value) : String(Number(value.toPrecision(3)))

/** @param {number} bytes */
export const size = (bytes) => bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
