import { InkcastError, publicError } from '../base/common/errors.js'
import { retryHint } from '../transport/admission/handshake-limit.js'
import { answerEvent } from './handlers/dispatch.js'

/**
 * Documents that a client opens without an event: those of its handshake, and those that a service opens for it.
 *
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./handlers/context.js').HandlerContext} HandlerContext
 *
 * @typedef {object} HandshakeParts
 * @property {import('./handshake-auth.js').HandshakeDocuments | undefined} documents to open
 * @property {import('./handshake-auth.js').RefusedPart[] | undefined} refused parts of the handshake
 */

/**
 * @param {Connection} connection
 * @param {string} guid
 * @param {object | null} opening the argument of doc:join, without the guid
 * @param {HandlerContext} context
 * @returns {Promise<boolean>} whether it is open
 */
export async function openDocument (connection, guid, opening, context) {
  const { ok, ...answer } = await answerEvent(connection, 'doc:join', [{ guid, ...opening }], context)
  if (ok) connection.about(guid, () => connection.send('doc:joined', answer))
  // not_joined: the document was left meanwhile, and may have been opened again since
  else if (answer.error.code !== 'not_joined')
    connection.send('doc:refused', { guid, error: { ...answer.error, ...retryHint(answer.error, context.random) } })
  return ok
}

/** @param {Connection} connection @param {HandshakeParts} parts of its handshake @param {HandlerContext} context */
export function openAsked (connection, { documents, refused }, context) {
  for (const part of refused ?? []) connection.send('gateway:refused', part)
  for (const [guid, opening] of documents ?? []) {
    if (!(opening instanceof InkcastError)) openDocument(connection, guid, opening, context)
    else {
      const error = publicError(opening)
      context.metrics.client_events.count('doc:join', error.code)
      connection.send('doc:refused', { guid, error })
    }
  }
}
