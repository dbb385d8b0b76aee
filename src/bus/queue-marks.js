import { MAX_QUEUES } from './contract.js'

/** Users whose queues are remembered, per document. */
const MAX_USERS = 10_000

/**
 * @template V
 * @param {Map<string, V>} map the least recently used first
 * @param {string} key
 * @param {V} value
 * @param {number} most
 */
function use (map, key, value, most) {
  map.delete(key)
  if (map.size >= most) map.delete(/** @type {string} */ (map.keys().next().value))
  map.set(key, value)
}

/**
 * The last number accepted of each queue, by user: what one user sends changes nothing for another one, who may know
 * the id of the queue. include/queues.lua is the same in Redis.
 */
export class QueueMarks {
  /** @type {Map<string, Map<string, number>>} */
  #users = new Map()

  /** @param {import('./contract.js').QueueId} queue @returns {number} 0: none is known */
  upTo ({ id, uid = '' }) { return this.#users.get(uid)?.get(id) ?? 0 }

  /**
   * @param {import('./contract.js').QueuePlace} place
   * @returns {boolean} false: it, or a later one, was accepted before
   */
  note (place) {
    if (this.upTo(place) >= place.number) return false
    const { id, uid = '', number } = place
    const queues = this.#users.get(uid) ?? new Map()
    use(queues, id, number, MAX_QUEUES)
    use(this.#users, uid, queues, MAX_USERS)
    return true
  }
}
