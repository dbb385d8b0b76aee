import { InkcastError, publicError } from '../../base/common/errors.js'

/** Maximum queues of one connection, and edits of one queue that wait for the one before. */
const [MAX_QUEUES, MAX_WAITING] = [100, 100]

/**
 * @typedef {object} Line the edits of one queue, in the order of their arrival
 * @property {Promise<unknown>} last
 * @property {number} waiting
 * @property {number} complete up to this number all edits have arrived, and none has to come again
 * @property {number | null} failed number of the edit that has to come again before later ones
 * @property {number} refused the connection's `refused` when an edit arrived last
 *
 * @typedef {object} Queues of one connection
 * @property {Map<string, Line>} lines at most MAX_QUEUES
 * @property {number} refused sends that the gateway refused undecoded, so that their queue is unknown
 */

/** @type {WeakMap<object, Queues>} */
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
  const queues = queuesOf(connection)
  const line = lineOf(queues, queue)
  const missing = line.refused !== queues.refused && number > line.complete + 1
  line.refused = queues.refused
  // The refused send may have been the edit before this one. The client sends both again.
  if (missing) {
    fail(line, number)
    throw new InkcastError('out_of_order')
  }
  if (line.waiting >= MAX_WAITING) {
    fail(line, number)
    throw new InkcastError('rate_limited', 'too many edits of one queue are waiting')
  }
  if (number === line.complete + 1) line.complete = number
  const sent = line.last.then(async () => {
    if (line.failed !== null && number > line.failed) throw new InkcastError('out_of_order')
    try {
      const answer = await send()
      if (line.failed === number) line.failed = null
      // above the next one if the client has dropped edits that were refused for good
      line.complete = Math.max(line.complete, number)
      return answer
    } catch (error) {
      if (comesAgain(publicError(error))) fail(line, number)
      else if (line.failed === number) line.failed = null
      throw error
    }
  })
  line.waiting++
  line.last = sent.catch(() => {}).then(() => { line.waiting-- })
  return sent
}

/**
 * Notes that a send of this connection was refused before it was decoded: it may have been an edit of any queue.
 * @param {object} connection
 */
export function refusedUndecoded (connection) { queuesOf(connection).refused++ }

/** @param {object} connection @returns {Queues} */
function queuesOf (connection) {
  let queues = connections.get(connection)
  if (queues === undefined) connections.set(connection, queues = { lines: new Map(), refused: 0 })
  return queues
}

/** @param {Queues} queues @param {string} queue @returns {Line} */
function lineOf ({ lines }, queue) {
  const known = lines.get(queue)
  if (known !== undefined) return known
  if (lines.size >= MAX_QUEUES) dropIdle(lines)
  if (lines.size >= MAX_QUEUES) throw new InkcastError('rate_limited', 'too many queues on one connection')
  const line = { last: Promise.resolve(), waiting: 0, complete: 0, failed: null, refused: 0 }
  lines.set(queue, line)
  return line
}

/** @param {Map<string, Line>} lines */
function dropIdle (lines) {
  for (const [queue, { waiting, failed }] of lines) {
    if (waiting > 0 || failed !== null) continue
    lines.delete(queue)
    return
  }
}

/** @param {Line} line @param {number} number */
function fail (line, number) {
  line.failed = Math.min(line.failed ?? Infinity, number)
  line.complete = Math.min(line.complete, number - 1)
}

/**
 * A document that was revoked or left while its edits wait may be joined again before the last of them is carried out.
 * @param {{ code: string, retryable: boolean }} error
 */
const comesAgain = ({ code, retryable }) => retryable || code === 'not_joined'
