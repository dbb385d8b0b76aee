/** Levels whose lines are in the trace. */
const NOTED = new Set(['fatal', 'error', 'warn'])

/**
 * The log of a process in a world. An error line is a violation: errors are for faults that inkcast does not
 * expect, and each fault of a world that is meant to bring one says so.
 *
 * @param {import('../world/sim-process.js').SimProcess} process
 * @returns {import('../../../src/base/common/log.js').Log}
 */
export function worldLog (process) {
  const { world } = process
  const at = (/** @type {string} */ level) => (/** @type {any[]} */ ...args) => {
    if (!NOTED.has(level)) return
    const text = args.map((arg) => typeof arg === 'string' ? arg : shown(arg)).join(' ')
    world.trace.note(world.time, `${level}: ${text}`, process)
    if (level === 'error' && ![...world.expected].some((part) => text.includes(part)))
      world.violation(`${process.name} logs an error: ${text}`)
  }
  return /** @type {any} */ ({
    level: 'info',
    fatal: at('fatal'), error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug'), trace: at('trace'),
    child: () => worldLog(process),
    isLevelEnabled: (/** @type {string} */ level) => NOTED.has(level),
    on () {},
    off () {}
  })
}

/** @param {object} fields */
const shown = (fields) => JSON.stringify(fields, (_, value) => {
  if (!(value instanceof Error)) return value
  return value.cause === undefined ? value.stack : `${value.stack} cause: ${value.cause}`
})
