import { clone } from '../common/clone.js'

/**
 * A store that lasts as long as the page: for Node, and for browsers without IndexedDB.
 * @returns {import('./contract.js').Store}
 */
export function memoryStore () {
  /** @type {Map<string, Map<string, import('./contract.js').Stored[]>>} by key and queue */
  const keys = new Map()
  return {
    load: async (key) => clone(keys.get(key) ?? new Map()),
    async add (key, queue, edit) {
      const copy = clone(edit)
      let queues = keys.get(key)
      if (queues === undefined) keys.set(key, queues = new Map())
      const others = queues.get(queue)?.filter(({ seq }) => seq !== edit.seq) ?? []
      queues.set(queue, [...others, copy].sort((a, b) => a.seq - b.seq))
    },
    async remove (key, queue, seq) {
      const queues = keys.get(key)
      const left = queues?.get(queue)?.filter((edit) => edit.seq !== seq) ?? []
      if (left.length > 0) queues?.set(queue, left)
      else queues?.delete(queue)
      if (queues?.size === 0) keys.delete(key)
    }
  }
}
