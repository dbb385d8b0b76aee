/**
 * What a check found.
 *
 * @typedef {object} Finding
 * @property {string} area what was looked at: `settings`, `redis`
 * @property {'ok' | 'warning' | 'error'} level error: inkcast does not start, or does not work
 * @property {string} text
 * @property {string} [todo] what to do about it
 */

/** @param {string} area */
export const findingsOf = (area) => ({
  /** @param {string} text @returns {Finding} */
  ok: (text) => ({ area, level: 'ok', text }),
  /** @param {string} text @param {string} todo @returns {Finding} */
  warning: (text, todo) => ({ area, level: 'warning', text, todo }),
  /** @param {string} text @param {string} todo @returns {Finding} */
  error: (text, todo) => ({ area, level: 'error', text, todo })
})
