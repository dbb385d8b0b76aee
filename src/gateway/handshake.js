import { z } from 'zod'
import { InkcastError, publicError } from '../common/errors.js'
import { isId } from '../wire/publication.js'
import { kOwner } from '../engine/link.js'
import { useCodec } from '../socketio/codec.js'
import { Connection, kConnection } from './connection.js'
import { retryHint } from '../admission/handshake-limit.js'
import { assignId } from '../socketio/handshake-hooks.js'
import { TOO_MANY_VALUES } from '../admission/rate-limit.js'
import { guid, isRecord, parseInput, position, state } from './handlers/input.js'

/** As the argument of doc:join, without the guid, and with what a position is made of in place of it. */
const opening = z
  .strictObject({ ...position.partial().shape, state: state.optional(), members: z.boolean().optional() })
  .refine(({ epoch, offset }) => (epoch === undefined) === (offset === undefined), 'epoch and offset go together')
  .transform(({ epoch, offset, ...rest }) => ({
    position: epoch === undefined || offset === undefined ? null : { epoch, offset },
    ...rest
  }))
  .nullable()

/**
 * What a client sends with its CONNECT packet; fields of others pass, unseen. Its documents are left to
 * `readDocuments`.
 */
export const authSchema = z.object({
  token: z.string().nullish(),
  client: z
    .custom(/** @type {(value: unknown) => value is string} */ (isId), 'client must be a string of 1 to 256 bytes')
    .nullish(),
  documents: z.custom(isRecord, 'documents must be an object').nullish()
})

/**
 * Every guid has a place in a Map, also one that means something to an object.
 * @typedef {Map<string, import('zod').output<typeof opening>>} HandshakeDocuments
 */

/**
 * One by one, so that the first one that is wrong is the last one looked at. Exported for tests: input of clients.
 * @param {Record<string, unknown>} documents
 * @returns {HandshakeDocuments}
 * @throws {InkcastError} bad_request
 */
export function readDocuments (documents) {
  const read = new Map()
  for (const name of Object.keys(documents)) {
    const at = ['documents', name]
    read.set(parseInput(guid, name, at), parseInput(opening, documents[name], at))
  }
  return read
}

/**
 * Whether it is an object with a valid token and client id at most, which the schema would pass as it is. Why: decision
 * 0008. Exported for tests: compared with the schema.
 * @param {any} auth
 * @returns {auth is { token?: string, client?: string, documents?: undefined }}
 */
export function isPlainAuth (auth) {
  if (typeof auth !== 'object' || auth === null || Array.isArray(auth)) return false
  for (const field in auth) {
    const value = auth[field]
    if (!(field === 'token' ? typeof value === 'string' : field === 'client' && isId(value))) return false
  }
  return true
}

/**
 * The Socket.IO middleware that turns a socket into a Connection, or refuses it with
 * `err.data = { code, retryable, retryInMs? }`.
 *
 * @param {object} dependencies
 * @param {ReturnType<typeof import('../auth/authenticator.js').createAuthenticator>} dependencies.authenticator
 * @param {ReturnType<typeof import('./local-users.js').createUsers>} dependencies.users
 * @param {number} dependencies.maxPerUser connections; 0: any number
 * @param {() => string} dependencies.newConnectionId
 * @param {import('./connection.js').ConnectionContext} dependencies.connectionContext
 * @param {() => boolean} dependencies.isDraining
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createHandshake ({
  authenticator, users, maxPerUser, newConnectionId, connectionContext, isDraining, metrics, log
}) {
  /** @this {any} Engine.IO's socket */
  function releaseUser () {
    users.release(this[kOwner].uid)
  }

  /** @param {import('socket.io').Socket} socket */
  async function admit (socket) {
    const { decoder } = /** @type {any} */ (socket.client)
    // Socket.IO would make a second connection of a CONNECT that comes while the first is under way
    if (decoder.taken) throw new InkcastError('bad_request', 'there is a connection already')
    decoder.taken = true
    try {
      await connect(socket)
    } catch (error) {
      decoder.taken = false
      throw error
    }
  }

  /** @param {import('socket.io').Socket} socket */
  async function connect (socket) {
    const codec = useCodec(socket.client)
    if (isDraining()) {
      // stock clients come back by themselves when the connection is lost, not when it is refused
      ;/** @type {any} */ (socket.conn).close()
      throw new InkcastError('draining')
    }
    const { auth } = socket.handshake
    if (auth === TOO_MANY_VALUES) throw new InkcastError('bad_value', 'there are too many values in the packet')
    const { token, client, documents } = isPlainAuth(auth) ? auth : parseInput(authSchema, auth)
    if (documents && Object.keys(documents).length > connectionContext.maxDocuments)
      throw new InkcastError('too_many_documents')
    const authenticating = authenticator.authenticate(token ?? undefined)
    const identity = authenticating instanceof Promise ? await authenticating : authenticating
    // they cost much more than a token that is not valid, so nobody unknown may have them read
    const opened = documents && readDocuments(documents)
    if (maxPerUser > 0 && users.count(identity.uid) >= maxPerUser) {
      metrics.connections_refused.inc({ reason: 'user' })
      throw new InkcastError('too_many_connections')
    }
    await users.register(identity.uid)
    const conn = /** @type {any} */ (socket.conn)
    if (conn.readyState !== 'open') {
      users.release(identity.uid)
      throw new InkcastError('unavailable', 'the connection has gone')
    }
    assignId(socket, newConnectionId())
    const connection = new Connection(socket, identity, codec, client ?? undefined, connectionContext)
    Object.assign(socket, { [kConnection]: connection })
    conn[kOwner] = connection
    const { decoder } = /** @type {any} */ (socket.client)
    decoder.connection = connection
    // until it is connected, which a middleware after this one may prevent
    conn.on('close', releaseUser)
    if (opened) socket.data.documents = opened
  }

  return {
    /** @param {import('socket.io').Socket} socket @param {(error?: Error) => void} next */
    middleware (socket, next) {
      admit(socket).then(
        () => {
          metrics.handshakes.count('ok')
          next()
        },
        (error) => {
          const { code, message, retryable } = publicError(error)
          metrics.handshakes.count(code)
          if (code === 'internal') log.error({ err: error }, 'handshake failed')
          next(Object.assign(new Error(message), { data: { code, retryable, ...retryHint({ retryable }) } }))
        }
      )
    },

    /** From now on its user is released when it disconnects. @param {Connection} connection */
    connected (connection) {
      connection.conn.off('close', releaseUser)
    }
  }
}
