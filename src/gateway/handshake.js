import { z } from 'zod'
import { InkcastError, publicError } from '../errors.js'
import { isId } from '../wire/publication.js'
import { useCodec } from './codec.js'
import { Connection } from './connection.js'
import { assignId } from './hooks.js'
import { parseInput, position } from './handlers/input.js'

/** What a client sends with its CONNECT packet; fields of others pass. */
const authSchema = z.looseObject({
  token: z.string().nullish(),
  client: z.custom(/** @type {(value: unknown) => value is string} */ (isId), 'client must be a string of 1 to 256 bytes').nullish(),
  documents: z.record(z.string(), position.nullable()).nullish()
})

/** @typedef {Map<string, import('../wire/position.js').Position | null>} HandshakeDocuments */

/**
 * The Socket.IO middleware that turns a socket into a Connection, or refuses it with
 * `err.data = { code, retryable }`.
 *
 * @param {object} dependencies
 * @param {ReturnType<typeof import('../auth/authenticator.js').createAuthenticator>} dependencies.authenticator
 * @param {(uid: string) => Promise<void>} dependencies.register makes records for this user reach this worker
 * @param {(uid: string) => void} dependencies.release takes one `register` back
 * @param {() => string} dependencies.newConnectionId
 * @param {import('./connection.js').ConnectionContext} dependencies.connectionContext
 * @param {() => boolean} dependencies.isDraining
 * @param {import('../metrics.js').Metrics} dependencies.metrics
 * @param {import('../log.js').Log} dependencies.log
 */
export function createHandshake ({ authenticator, register, release, newConnectionId, connectionContext, isDraining, metrics, log }) {
  /** @param {import('socket.io').Socket} socket */
  async function admit (socket) {
    const codec = useCodec(socket.client)
    if (isDraining()) throw new InkcastError('draining')
    const { token, client, documents } = parseInput(authSchema, socket.handshake.auth)
    const { maxDocumentsPerConnection } = connectionContext.limits
    if (documents && Object.keys(documents).length > maxDocumentsPerConnection) throw new InkcastError('too_many_documents')
    const identity = await authenticator.authenticate(token ?? undefined)
    await register(identity.uid)
    if (socket.conn.readyState !== 'open') {
      release(identity.uid)
      throw new InkcastError('unavailable', 'the connection has gone')
    }
    assignId(socket, newConnectionId())
    socket.data.connection = new Connection(socket, identity, codec, client ?? undefined, connectionContext)
    if (documents) socket.data.documents = new Map(Object.entries(documents))
  }

  /** @param {import('socket.io').Socket} socket @param {(error?: Error) => void} next */
  return (socket, next) => {
    admit(socket).then(() => {
      metrics.handshakes.inc({ result: 'ok' })
      next()
    }, (error) => {
      const { code, message, retryable } = publicError(error)
      metrics.handshakes.inc({ result: code })
      if (code === 'internal') log.error({ err: error }, 'handshake failed')
      next(Object.assign(new Error(message), { data: { code, retryable } }))
    })
  }
}
