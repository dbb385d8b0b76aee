import { InkcastError, publicError } from '../../common/errors.js'

/** Maximum queues of one connection, and edits of one queue that wait for the one before. */
const [MAX_QUEUES, MAX_WAITING] = [100, 100]

/**
 * @typedef {object} Line the edits of one queue, in the order of their arrival
 * @property {Promise<unknown>} last
 * @property {number} waiting
 * @property {number | null} failed number of the edit that has to come again before later ones
 */

/** Bounded by MAX_QUEUES for each connection. @type {WeakMap<object, Map<string, Line>>} */
const connections = new WeakMap()

/**
 * Carries out the sends of one queue one after the other. After one that may succeed later, the following ones fail at
 * once until it has come again: otherwise a later edit would be accepted, and the earlier one taken for a duplicate.
 *
 * @template T
 * @param {object} connection
 * @param {string} queue id, with the document
 * @param {number} number of the edit in the queue
 * @param {() => Promise<T>} send
 * @returns {Promise<T>} rejects with out_of_order, rate_limited, or the error of `send`
 */
export async function inOrder (connection, queue, number, send) {
  let lines = connections.get(connection)
  if (lines === undefined) connections.set(connection, lines = new Map())
  let line = lines.get(queue)
  if (line === undefined) {
    if (lines.size >= MAX_QUEUES) throw new InkcastError('rate_limited', 'too many queues on one connection')
    lines.set(queue, line = { last: Promise.resolve(), waiting: 0, failed: null })
  }
  // the client sends it again
  if (line.waiting >= MAX_WAITING) {
    line.failed = Math.min(line.failed ?? Infinity, number)
    throw new InkcastError('rate_limited', 'too many edits of one queue are waiting')
  }
  const own = line
  const sent = own.last.then(async () => {
    if (own.failed !== null && number > own.failed) throw new InkcastError('out_of_order')
    try {
      const answer = await send()
      if (own.failed === number) own.failed = null
      return answer
    } catch (error) {
      if (publicError(error).retryable) own.failed = Math.min(own.failed ?? Infinity, number)
      else if (own.failed === number) own.failed = null
      throw error
    }
  })
  own.waiting++
  own.last = sent.catch(() => {}).then(() => {
    if (--own.waiting === 0 && own.failed === null) lines.delete(queue)
  })
  return sent
}
