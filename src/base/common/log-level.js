/** Levels of the log, the most severe first. */
export const LOG_LEVELS = /** @type {const} */ (['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])

/** @typedef {(typeof LOG_LEVELS)[number]} LogLevel */

/** @param {unknown} level @returns {level is LogLevel} */
export const isLogLevel = (level) => /** @type {readonly unknown[]} */ (LOG_LEVELS).includes(level)
