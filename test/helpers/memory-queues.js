/**
 * What the bus remembers of clients' queues, for uplinks without a bus.
 * @returns {Pick<import('../../src/log/bus/contract.js').Bus, 'queuedUpTo' | 'noteQueued'>}
 */
export function memoryQueues () {
  /** @type {Map<string, number>} */
  const numbers = new Map()
  return {
    queuedUpTo: async (guid, queue) => numbers.get(`${guid} ${queue.uid} ${queue.id}`) ?? 0,
    noteQueued: async (guid, { id, uid, number }) => { numbers.set(`${guid} ${uid} ${id}`, number) }
  }
}
