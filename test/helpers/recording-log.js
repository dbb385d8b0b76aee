/**
 * A log that records its lines.
 * @returns {{ log: import('../../src/base/common/log.js').Log, lines: { level: string, text: string }[] }} text: the
 *   message, and its fields as JSON
 */
export function recordingLog () {
  /** @type {{ level: string, text: string }[]} */
  const lines = []
  const at = (/** @type {string} */ level) => (/** @type {unknown[]} */ ...args) => {
    lines.push({
      level,
      text: args.map((arg) => (typeof arg === 'string' ? arg : JSON.stringify(arg, withErrors))).join(' ')
    })
  }
  const log = {
    fatal: at('fatal'),
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    isLevelEnabled: () => true,
    // its level never changes
    on () {},
    off () {}
  }
  return { log: /** @type {any} */ (log), lines }
}

/** @param {string} _key @param {unknown} value */
const withErrors = (_key, value) => value instanceof Error ? `${value.stack} ${value.cause}` : value
