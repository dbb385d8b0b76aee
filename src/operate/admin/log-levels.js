import { InkcastError } from '../../base/common/errors.js'
import { isLogLevel, LOG_LEVELS } from '../../base/common/log-level.js'
import { readBody } from './answers.js'
import { askProcesses, byName, processesIn } from './ask-processes.js'

/**
 * The log levels of all processes of this machine: `GET` and `PUT /loglevel` on ADMIN_PORT, and SIGUSR2.
 *
 * @typedef {{ name: string, level?: string, error?: string }} ProcessLevel error: why the level is not known
 */

/** Timeout of a process's answer, ms. */
const TIMEOUT = 800

/**
 * @param {object} options
 * @param {string} options.directory with the private listeners of the processes
 * @param {{ name: string, control: import('../../base/common/log-level-control.js').LogLevelControl }} [options.own]
 *   the
 *   process that asks, if it has no private listener
 * @param {(level: string) => void} [options.onAll] called with a level that all processes get, also later ones
 */
export function createLogLevels ({ directory, own, onAll = () => {} }) {
  /**
   * @param {string | undefined} name of a process; undefined: all of them
   * @param {string} [level] undefined: only read
   * @returns {Promise<ProcessLevel[]>}
   */
  async function ask (name, level) {
    const processes = (await processesIn(directory)).filter((process) => name === undefined || process.name === name)
    const change = level === undefined ? {} : { method: 'PUT', body: { level } }
    return (await askProcesses(processes, '/loglevel', { timeout: TIMEOUT, ...change }))
      .map(({ name, answer, error }) => error === undefined ? { name, level: answer.level } : { name, error })
      .sort(byName)
  }

  /** @param {string | undefined} name @returns {typeof own} */
  const self = (name) => own !== undefined && (name === undefined || name === own.name) ? own : undefined

  return {
    /** @returns {Promise<ProcessLevel[]>} */
    async read () {
      const asked = self(undefined)
      return [...(asked ? [{ name: asked.name, level: asked.control.level }] : []), ...await ask(undefined)]
    },

    /**
     * @param {unknown} level one of LOG_LEVELS, or `default`: the one of the settings
     * @param {unknown} [name] of a process (`gateway-1`); default: all
     * @returns {Promise<ProcessLevel[]>} of those that were asked
     * @throws {InkcastError} bad_request, not_found
     */
    async set (level, name) {
      if (level !== 'default' && !isLogLevel(level))
        throw new InkcastError('bad_request', `level must be one of ${LOG_LEVELS.join(', ')}, default`)
      if (name !== undefined && typeof name !== 'string')
        throw new InkcastError('bad_request', 'process must be the name of one, as gateway-0')
      if (name === undefined) onAll(level)
      const asked = self(name)
      const levels = [
        ...(asked ? [{ name: asked.name, level: asked.control.set(level) }] : []),
        ...await ask(name, level)
      ]
      if (levels.length === 0) throw new InkcastError('not_found', `there is no process ${name}`)
      return levels
    }
  }
}

/** @typedef {ReturnType<typeof createLogLevels>} LogLevels */

/**
 * `GET /loglevel`: the level of each process. `PUT /loglevel` with `{ "level": "debug", "process": "gateway-0" }`
 * changes it, without `process` for all.
 * @param {LogLevels} logLevels
 */
export const logLevelMethods = (logLevels) => ({
  GET: async () => ({ processes: await logLevels.read() }),
  async PUT (/** @type {import('node:http').IncomingMessage} */ req) {
    const { level, process } = await readBody(req)
    return { ok: true, processes: await logLevels.set(level, process) }
  }
})
