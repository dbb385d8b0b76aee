import { within } from '../../base/common/wait.js'
import { configOf, createContext } from './context.js'
import { Guard } from './guard.js'
import { loadExtensions, messageOf } from './loader.js'
import { guardRegistration } from './registration.js'

/** Time that an extension's stop function gets, ms. */
const STOP_TIME = 5000

/** @typedef {NonNullable<ReturnType<typeof createExtensions>>} Extensions */

/**
 * The extensions of a worker: its own Socket.IO code beside documents (docs/extensions.md).
 *
 * @param {object} dependencies
 * @param {Pick<import('../../config/load.js').Config, 'extensions' | 'extensionSettings'>} dependencies.config
 * @param {import('./context.js').Services} dependencies.services
 * @returns undefined if EXTENSIONS names none
 */
export function createExtensions ({ config, services }) {
  const { extensions: { modules }, extensionSettings: settings } = config
  if (modules.length === 0) return undefined
  const { log, clock } = services
  /** @type {{ name: string, stop: () => unknown }[]} */
  const started = []

  return {
    /**
     * Loads and starts the extensions, one after the other.
     * @param {import('socket.io').Server} io
     * @param {(socket: import('socket.io').Socket) => void} onRefused called when a middleware of an extension refuses
     *   a client
     * @returns {Promise<void>} rejects with one line that names the extension
     */
    async start (io, onRefused) {
      guardRegistration(io)
      for (const { name, start } of await loadExtensions(modules)) {
        const guard = new Guard(name, { metrics: services.metrics, log, clock, onRefused })
        const context = createContext(guard, io, services, configOf(name, settings))
        try {
          const stop = await guard.run(() => start(context))
          if (typeof stop === 'function') started.push({ name, stop: () => guard.run(stop) })
        } catch (error) {
          throw new Error(`extension ${name} does not start: ${messageOf(error)}`, { cause: error })
        }
        log.info({ extension: name }, 'extension started')
      }
    },

    /** Stops them in the opposite order. */
    async stop () {
      for (const { name, stop } of started.splice(0).reverse()) {
        try {
          const stopped = await within(Promise.resolve(stop()).then(() => true), STOP_TIME, false, clock)
          if (!stopped) throw new Error(`it did not stop within ${STOP_TIME} ms`)
        } catch (error) {
          log.error({ err: error, extension: name }, 'extension did not stop cleanly')
        }
      }
    }
  }
}
