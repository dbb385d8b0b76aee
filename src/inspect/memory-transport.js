import { EventEmitter } from 'node:events'

/**
 * The inspector's transport within one process (contract.js).
 *
 * @param {object} dependencies
 * @param {EventEmitter} [dependencies.hub] shared by the transports that reach each other
 * @param {Pick<import('../common/clock.js').Clock, 'soon'>} dependencies.clock
 * @returns {import('./contract.js').InspectTransport}
 */
export function createMemoryTransport ({ hub = new EventEmitter(), clock }) {
  /** @type {((watch: import('./contract.js').Watch) => void) | undefined} */
  let listener
  return {
    async start (onWatch) {
      listener = (watch) => onWatch({ ...watch })
      hub.on('watch', listener)
    },
    async stop () { if (listener !== undefined) hub.off('watch', listener) },
    async announce (watch) { clock.soon(() => hub.emit('watch', watch)) },
    async send (id, batch) { clock.soon(() => hub.emit(`batch ${id}`, batch)) },
    async follow (id, onBatch) {
      hub.on(`batch ${id}`, onBatch)
      return () => { hub.off(`batch ${id}`, onBatch) }
    }
  }
}
