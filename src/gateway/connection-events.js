import { RateLimit } from '../admission/rate-limit.js'
import { retryHint } from '../admission/handshake-limit.js'
import { kOwner } from '../engine/link.js'
import { forgetHandshake } from '../socketio/handshake-hooks.js'
import { createSharedListeners } from '../socketio/shared-listeners.js'
import { kConnection } from './connection.js'
import { answerEvent, handleEvent } from './handlers/dispatch.js'
import { leaveDocument } from './handlers/leave.js'
import { endReason } from './life-cycle.js'

/**
 * Listeners to Engine.IO and Socket.IO, from the first packet of a connection to its end. Each is one function for all
 * connections, not one for each.
 */

/** Rate limit of a client that is in namespaces of extensions only; a property of its Engine.IO socket. */
const kRateLimit = Symbol('rate limit')

/**
 * @param {object} dependencies
 * @param {import('./handlers/dispatch.js').HandlerContext} dependencies.context
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {ReturnType<typeof import('./local-users.js').createUsers>} dependencies.users
 * @param {ReturnType<typeof import('../heartbeat/heartbeat.js').createHeartbeat> | null} dependencies.heartbeat
 * @param {import('../admission/input-limits.js').InputLimits} dependencies.inputLimits
 * @param {ReturnType<typeof import('../admission/rate-limit.js').ratesOf>} dependencies.rates
 * @param {Pick<import('./drain.js').Drain, 'active'>} dependencies.drain
 * @param {boolean} dependencies.hooked whether private hooks may be used
 */
export function createConnectionEvents ({ context, directory, users, heartbeat, inputLimits, rates, drain, hooked }) {
  const { clock, expiry, lifeCycle, log } = context

  /**
   * Counts what a client sends; too much of it ends its session.
   * @param {any} conn Engine.IO's socket
   * @param {number} frames @param {number} bytes
   */
  function count (conn, frames, bytes) {
    /** @type {import('./connection.js').Connection | undefined} */
    const connection = conn[kOwner]
    if (connection !== undefined) return connection.received(bytes, frames)
    if (conn[kRateLimit] === undefined) return inputLimits.received(conn, frames, bytes)
    if (!conn[kRateLimit].packet(bytes, clock.monotonic(), frames)) conn.terminate()
  }

  /** @this {any} Engine.IO's socket @param {{ type: string, data?: string | Buffer }} packet it may be empty */
  function onPacket (packet) {
    heartbeat?.heard(this, packet.type)
    count(this, 1, packet.data?.length ?? 0)
  }

  /**
   * Everything else that is written follows the records that were delivered before it, and counts where it has to wait.
   * @this {any} Engine.IO's socket
   * @param {{ data?: any, options?: any }} packet
   */
  function onPacketCreate (packet) {
    /** @type {import('./connection.js').Connection} */
    const connection = this[kOwner]
    connection.flush()
    if (connection.backlog !== null || !this.transport.writable) connection.waits(packet)
  }

  /** @this {any} Socket.IO's socket @param {string} event @param {unknown[]} args */
  function onEvent (event, ...args) {
    handleEvent(this[kConnection], event, args, context).catch((error) => log.error({ err: error }, 'event failed'))
  }

  /** @this {any} Socket.IO's socket @param {string} reason */
  function onDisconnect (reason) {
    /** @type {import('./connection.js').Connection} */
    const connection = this[kConnection]
    // stock clients close it themselves; nothing would end it when they don't
    if (reason === 'client namespace disconnect') connection.conn.close()
    directory.remove(connection)
    expiry.forget(connection)
    heartbeat?.forget(connection.conn)
    users.release(connection.uid)
    const ended = endReason(connection, reason, drain.active)
    // a client that is told to go, or says goodbye, does not come back
    const lost = reason !== 'client namespace disconnect' && reason !== 'server namespace disconnect'
    for (const guid of [...connection.documents()]) leaveDocument(connection, guid, ended, context, lost)
    lifeCycle.disconnected(connection, ended)
  }

  const sharedListeners = hooked ? createSharedListeners({ onPacket, onPacketCreate, onDisconnect }) : null

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {string} guid
   * @param {object | null} opening the argument of doc:join, without the guid
   */
  async function joinAtHandshake (connection, guid, opening) {
    const { ok, ...answer } = await answerEvent(connection, 'doc:join', [{ guid, ...opening }], context)
    if (ok) connection.socket.emit('doc:joined', answer)
    // not_joined: the document was left meanwhile, and may be open again by now
    else if (answer.error.code !== 'not_joined')
      connection.socket.emit('doc:refused', { guid, error: { ...answer.error, ...retryHint(answer.error) } })
  }

  return {
    count,

    /**
     * @param {import('../engine/engine.js').Engine} engine
     * @param {import('socket.io').Server} io
     * @param {Pick<ReturnType<typeof import('./handshake.js').createHandshake>, 'connected'>} handshake
     */
    listen (engine, io, handshake) {
      engine.on('connection', (conn) => {
        heartbeat?.watch(conn)
        conn.on('packet', onPacket)
      })

      io.on('connection', (socket) => {
        /** @type {import('./connection.js').Connection} */
        const connection = /** @type {any} */ (socket)[kConnection]
        handshake.connected(connection)
        engine.admit(connection.conn)
        if (hooked) forgetHandshake(socket)
        directory.add(connection)
        expiry.watch(connection)
        heartbeat?.replan(connection.conn)
        connection.conn.on('packetCreate', onPacketCreate)
        socket.onAny(onEvent)
        socket.on('disconnect', onDisconnect)
        sharedListeners?.share(connection)
        lifeCycle.connected(connection)
        if (drain.active) {
          // it was being admitted when the others were told
          connection.tellDraining()
          connection.goAway()
          return
        }
        const documents = /** @type {import('./handshake.js').HandshakeDocuments | undefined} */ (socket.data.documents)
        if (documents !== undefined) {
          delete socket.data.documents
          for (const [guid, opening] of documents) joinAtHandshake(connection, guid, opening)
        }
      })

      // clients of an extension's namespace are the extension's matter, except for how much they send
      io.on('new_namespace', (namespace) => {
        namespace.on('connection', ({ conn }) => {
          if (/** @type {any} */ (conn)[kOwner] !== undefined) return
          engine.admit(conn)
          Object.assign(conn, { [kRateLimit]: new RateLimit(rates, clock.monotonic()) })
        })
      })
    }
  }
}
