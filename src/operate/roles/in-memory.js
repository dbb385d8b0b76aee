/** The meaning of a start without REDIS_URL, and how to change it: for the log of a start, and for `inkcast check`. */
export const IN_MEMORY = Object.freeze({
  text: 'there is no REDIS_URL: one process keeps all logs in memory, and nothing survives a restart',
  todo: 'set REDIS_URL to keep the logs in Redis'
})

/**
 * Reports at the start that there is no Redis: in production as a warning, because there it is hardly ever meant.
 *
 * @param {Pick<import('../../config/load.js').Config, 'production'>} config
 * @param {Pick<import('../../base/common/log.js').Log, 'info' | 'warn'>} log
 */
export function reportInMemory ({ production }, log) {
  const line = `${IN_MEMORY.text}; ${IN_MEMORY.todo}`
  if (production) log.warn(line)
  else log.info(line)
}
