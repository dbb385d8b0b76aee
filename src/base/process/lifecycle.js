/**
 * The ordered list of the parts of a process. Parts are started in the order in which they are added and stopped in
 * reverse; a part that fails to stop is logged and does not keep the others from stopping.
 *
 * @typedef {object} Part
 * @property {() => unknown} [start]
 * @property {() => unknown} [stop]
 *
 * @typedef {Record<string, Part | undefined>} Parts by name, in the order of their start; undefined: the process has
 *   none
 */

/** @param {{ log: import('../common/log.js').Log }} dependencies */
export function createLifecycle ({ log }) {
  /** @type {{ name: string, stop: () => unknown }[]} */
  const started = []
  /** @type {Promise<void> | undefined} */
  let stopping

  async function stopAll () {
    for (const part of started.splice(0).reverse()) {
      try {
        await part.stop()
      } catch (error) {
        log.error({ err: error, part: part.name }, 'part did not stop cleanly')
      }
    }
  }

  return {
    /**
     * Starts a part and adds it to the list of parts to stop. If its start fails, it is stopped (it may own resources
     * already) and the error is passed on.
     * @template {object} T
     * @param {string} name
     * @param {T & { start?: () => unknown, stop?: () => unknown }} part
     * @returns {Promise<T>} the same part
     */
    async start (name, part) {
      started.push({ name, stop: () => part.stop?.() })
      await part.start?.()
      return part
    },

    /** @param {Parts} parts */
    async startAll (parts) {
      for (const [name, part] of Object.entries(parts)) if (part !== undefined) await this.start(name, part)
    },

    /**
     * Adds a function to call at the stop.
     * @param {string} name
     * @param {() => unknown} stop
     */
    onStop (name, stop) { started.push({ name, stop }) },

    /** Whether `stop` was called. */
    get isStopping () { return stopping !== undefined },

    /** Stops everything once; later calls wait for the first. */
    stop () { return stopping ??= stopAll() }
  }
}
