/** @typedef {import('./log-level.js').LogLevel} LogLevel */

/**
 * Changes the level of a log while the process runs.
 *
 * @param {object} options
 * @param {import('./log.js').Log} options.log of this process, made by createLog
 * @param {LogLevel} options.usual from the settings
 */
export function createLogLevel ({ log, usual }) {
  /** @param {LogLevel} level */
  const set = (level) => {
    const before = log.level
    if (level === before) return level
    const shown = log.isLevelEnabled('info')
    const line = () => log.info({ from: before, to: level }, 'the log level was changed')
    if (shown) line()
    // its children follow
    log.level = level
    if (!shown) line()
    return level
  }
  return {
    /** @returns {LogLevel} */
    get level () { return /** @type {LogLevel} */ (log.level) },

    /**
     * @param {LogLevel | 'default'} level default: the one of the settings
     * @returns {LogLevel} the level from now on
     */
    set: (level) => set(level === 'default' ? usual : level),

    /** The level after a switch between `debug` and the one of the settings. @returns {LogLevel} */
    get toggled () {
      if (log.level !== 'debug') return 'debug'
      return usual === 'debug' ? 'info' : usual
    }
  }
}

/** @typedef {ReturnType<typeof createLogLevel>} LogLevelControl */
