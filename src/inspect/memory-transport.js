import { EventEmitter } from 'node:events'

/**
 * The inspector's transport within one process (contract.js).
 *
 * @param {EventEmitter} [hub] shared by the transports that reach each other
 * @returns {import('./contract.js').InspectTransport}
 */
export function createMemoryTransport (hub = new EventEmitter()) {
  /** @type {((watch: import('./contract.js').Watch) => void) | undefined} */
  let listener
  return {
    async start (onWatch) {
      listener = (watch) => onWatch({ ...watch })
      hub.on('watch', listener)
    },
    async stop () { if (listener !== undefined) hub.off('watch', listener) },
    async announce (watch) { setImmediate(() => hub.emit('watch', watch)) },
    async send (id, batch) { setImmediate(() => hub.emit(`batch ${id}`, batch)) },
    async follow (id, onBatch) {
      hub.on(`batch ${id}`, onBatch)
      return () => { hub.off(`batch ${id}`, onBatch) }
    }
  }
}
