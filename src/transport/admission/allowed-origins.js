/**
 * The names that `*` of a pattern stands for: one label or more, of the letters that browsers send. No other character
 * may be there: `https://evil.example/.example.com` and `https://x@y.example.com` end like an allowed origin.
 */
const LABELS = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

/** Text before and after the labels: `https://` and `.example.com:8443`. @typedef {[string, string]} Pattern */

/**
 * The origins of `ALLOWED_ORIGINS`: single ones, and patterns as `https://*.example.com`. A pattern stands for all names
 * below its domain at any depth, as in a Content Security Policy, and not for the domain itself; scheme and port must
 * be equal.
 */
export class AllowedOrigins {
  #single
  #patterns

  /** @param {readonly string[]} allowed config.gateway.allowedOrigins */
  constructor (allowed) {
    /** whether every page may connect */
    this.any = allowed.includes('*')
    this.#single = new Set(allowed.filter((entry) => !entry.includes('*')))
    this.#patterns = allowed.filter((entry) => entry.includes('://*.'))
      .map((entry) => /** @type {Pattern} */ (entry.split('*')))
  }

  /** @param {string} origin as a browser sent it @returns {boolean} */
  has (origin) {
    if (this.any || this.#single.has(origin)) return true
    return this.#patterns.some(([start, end]) =>
      origin.startsWith(start) && origin.endsWith(end) && LABELS.test(origin.slice(start.length, -end.length)))
  }
}
