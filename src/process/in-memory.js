/** The meaning of embedded mode, and how to leave it: for the log of a start, and for `inkcast check`. */
export const IN_MEMORY = Object.freeze({
  text: 'there is no REDIS_URL: one process (embedded mode) keeps all logs in memory, and nothing survives a restart',
  todo: 'set REDIS_URL to run a worker per core and to keep the logs in Redis'
})

/**
 * Reports embedded mode at the start: in production as a warning, because there it is hardly ever meant.
 *
 * @param {Pick<import('../config/load.js').Config, 'production'>} config
 * @param {Pick<import('../common/log.js').Log, 'info' | 'warn'>} log
 */
export function reportInMemory ({ production }, log) {
  const line = `${IN_MEMORY.text}; ${IN_MEMORY.todo}`
  if (production) log.warn(line)
  else log.info(line)
}
