import { closing } from './websocket/carrier.js'

/**
 * What a polling session is told leaves its buffer with the answer to a poll, and then waits in the connection, where nobody
 * counts it, for a client that does not read. One answer at a time does, and not for ever.
 */

/** Of Engine.IO's socket: the answer to its last poll, until the kernel has all of it. */
const kAnswer = Symbol('answer')

/**
 * Clients ask again when they have read what they were told.
 * @param {any} session Engine.IO's socket, on polling
 * @param {import('node:http').ServerResponse} answer to a poll that has arrived
 * @returns {boolean} false: the one before it was not read; it is cut off, and what is in it may be lost
 */
export function takesAnswer (session, answer) {
  const last = session[kAnswer]
  if (isUnread(last)) {
    last.destroy()
    return false
  }
  session[kAnswer] = answer
  answer.once('close', () => {
    closing.delete(answer)
    if (session[kAnswer] === answer) session[kAnswer] = null
  })
  return true
}

/**
 * Its last word may be on its way, and take as long as one after a close frame.
 * @param {any} session Engine.IO's socket, which has ended or is about to
 */
export function limitLastAnswer (session) { if (isUnread(session[kAnswer])) closing.add(session[kAnswer]) }

/** @param {import('node:http').ServerResponse | null | undefined} answer */
const isUnread = (answer) => answer?.writableEnded === true && !answer.writableFinished && !answer.destroyed
