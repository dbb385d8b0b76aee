import { InkcastError, publicError } from '../../base/common/errors.js'
import { isRecord } from '../../base/common/schema.js'
import { endSocket, responseOf } from '../../base/process/socket-times.js'
import { happened } from '../../observe/metrics/points.js'
import { LARGE, earlyValuesFor } from '../../transport/admission/message-bounds.js'
import { RATE_LIMITED } from '../../transport/admission/rate-limit.js'
import { kOwner } from '../../transport/engine/link.js'
import { headSize } from '../../transport/engine/request.js'
import { createClosing } from '../../transport/engine/socket-reader.js'
import { opensWebSocket, readOffer } from '../../transport/plain/handshake-request.js'
import { PlainSocket } from '../../transport/plain/plain-socket.js'
import { WrongPacket, answerTo } from '../../transport/socketio/undecoded.js'
import { plainMessageOf } from '../../wire/plain-message.js'
import { openAsked } from '../asked-documents.js'
import { handleEvent } from '../handlers/dispatch.js'
import { PlainConnection, closeCodeOf } from './plain-connection.js'
import { idOf, readPlain } from './plain-reader.js'

/** The first message of a client that asks for it with `auth=message`: its argument is that of Socket.IO's `auth`. */
const CONNECT = 'gateway:connect'
const PING = 'gateway:ping'
/** The same frames for all clients. */
const PONG = {
  json: plainMessageOf('json', { event: 'gateway:pong' }).frame,
  msgpack: plainMessageOf('msgpack', { event: 'gateway:pong' }).frame
}
/** The answer to a request that opens no WebSocket. */
const HOW = JSON.stringify({
  code: 'bad_request',
  message: 'this path is for WebSockets of version 13, with the subprotocol inkcast.json, inkcast.msgpack or none'
})

/**
 * The door for plain WebSockets: clients with a few lines of their own, in place of a Socket.IO library
 * (docs/websocket.md). Walls before and after the login are those of Socket.IO's door, and so are the handlers.
 *
 * @typedef {import('../../transport/engine/request.js').Upgrade} Upgrade
 * @typedef {import('../../transport/plain/plain-socket.js').PlainServer} PlainServer
 */

/** @implements {PlainServer} */
export class PlainDoor {
  #parts
  #context
  #newId
  #earlyValues
  /** @type {Set<PlainSocket>} bounded by MAX_CONNECTIONS */
  #sessions = new Set()

  /**
   * @param {import('../handlers/context.js').HandlerContext} context
   * @param {import('../../config/listeners.js').Listener} listener with a path
   * @param {import('../door-contract.js').DoorParts} parts
   */
  constructor (context, listener, parts) {
    const { newId, admission } = parts
    this.listener = listener
    this.#newId = newId
    this.#parts = parts
    this.#context = context
    this.#earlyValues = earlyValuesFor(parts.connectionContext.maxDocuments)
    this.maxBytes = admission.maxBytes
    this.inputLimits = admission.inputLimits
    this.clock = context.clock
    this.closing = createClosing(context.clock)
  }

  /** Open sessions. */
  get size () { return this.#sessions.size }

  close () { for (const session of [...this.#sessions]) session.close(true) }

  /** @param {{ url?: string }} request @returns {boolean} whether it is for this door */
  isFor ({ url = '' }) {
    const at = url.indexOf('?')
    return (at === -1 ? url : url.slice(0, at)) === this.listener.path
  }

  /**
   * @param {Upgrade} request
   * @param {import('net').Socket} netSocket
   * @param {Buffer} rest bytes after the request
   * @returns {boolean} false: it is refused, by `handleUpgrade`
   */
  take (request, netSocket, rest) {
    const { admission } = this.#parts
    const offer = readOffer(request.headers)
    if (offer === null || !opensWebSocket(request) || !admission.origins.mayConnect(request.headers)) return false
    admission.handshakeLimit.enter(
      netSocket, undefined, () => { if (!netSocket.destroyed) this.#open(request, netSocket, offer, rest) }, request
    )
    return true
  }

  /**
   * A request that Node has read.
   * @param {any} req
   * @param {any} netSocket
   * @param {Buffer} rest
   */
  handleUpgrade (req, netSocket, rest) {
    if (this.#parts.admission.origins.refuse(req, netSocket) || this.take(req, netSocket, rest)) return
    endSocket(netSocket, responseOf(400, HOW), this.clock)
  }

  /**
   * @param {Upgrade} request
   * @param {import('net').Socket} netSocket
   * @param {import('../../transport/plain/handshake-request.js').Offer} offer
   * @param {Buffer} rest
   */
  #open (request, netSocket, { codec, protocol, token }, rest) {
    const { admission, heartbeat } = this.#parts
    const session = new PlainSocket(this.#newId(), this, request, netSocket, codec)
    this.#sessions.add(session)
    admission.connectionLimits.opened(session)
    admission.inputLimits.enter(session, headSize(request))
    heartbeat.watch(session)
    const answer = session.answer(protocol)
    const { auth, id } = session.handshake.query
    session.handshake.auth = { client: id === '' ? undefined : id, token }
    if (auth === 'message') session.writeNow(answer)
    else {
      session.writesLater(answer)
      this.#admit(session, {})
    }
    if (rest.length > 0) session.received(Buffer.from(rest))
  }

  /** @param {PlainSocket} session @param {any} auth of the first message, as of Socket.IO's handshake; anything */
  async #admit (session, auth) {
    const { client, token } = session.handshake.auth
    session.handshake.auth =
      isRecord(auth) ? { ...auth, client: auth.client ?? client, token: auth.token ?? token } : auth
    session.early = []
    try {
      if (this.#parts.drain.active) throw new InkcastError('draining')
      const admission = await this.#parts.handshake.admitted(/** @type {any} */ (session))
      if (session.readyState === 'open') this.#connect(session, admission)
      else this.#parts.users.release(admission.identity.uid)
    } catch (error) {
      this.#refuse(session, this.#parts.handshake.refusal(error, this.listener.name))
    }
  }

  /** @param {PlainSocket} session @param {import('../handshake.js').Admission} admission */
  #connect (session, { identity, auth, parts: asked, since }) {
    const { connectionContext, events, userLogs } = this.#parts
    const { metrics, connectionListeners } = this.#context
    const early = session.early ?? []
    session.early = null
    const connection =
      new PlainConnection(session, identity, session.codec, auth.client ?? undefined, connectionContext)
    connection.acknowledges = auth.acknowledges === true
    session[kOwner] = connection
    if (since !== undefined) userLogs.prepare(connection, since)
    metrics.handshakes.count('ok', this.listener.name)
    this.inputLimits.admit(session)
    session.admit()
    events.add(connection)
    connection.send('gateway:connected', { id: connection.id, uid: connection.uid })
    connectionListeners.connected(connection)
    if (happened.hasSubscribers)
      connection.tell('connected', { details: { transport: connection.transport, codec: connection.codec } })
    if (events.sentAway(connection)) return
    userLogs.join(connection)
    if (asked !== undefined) openAsked(connection, asked, this.#context)
    for (const message of early) {
      this.inputLimits.holds(session, -message.length)
      this.#receive(connection, message)
    }
  }

  /**
   * @param {PlainSocket} session not admitted
   * @param {{ code: string, message: string, retryable: boolean }} refusal
   */
  #refuse (session, refusal) {
    session.writesLater(plainMessageOf(session.codec, { event: 'gateway:disconnect', payload: refusal }).frame)
    session.closeWith(closeCodeOf(refusal), refusal.code)
  }

  // PlainServer

  /** @param {PlainSocket} session @param {number} frames */
  onFrames (session, frames) { this.#parts.events.count(session, frames, 0) }

  /** @param {PlainSocket} session */
  onPong (session) { this.#parts.heartbeat.heard(session, 'pong') }

  /** @param {any} session */
  ended (session) {
    const { admission, heartbeat } = this.#parts
    admission.connectionLimits.ended(session)
    admission.inputLimits.leave(session)
    heartbeat.forget(session)
    this.#sessions.delete(session)
  }

  /** @param {any} session @param {string} reason */
  onEnd (session, reason) {
    /** @type {PlainConnection | undefined} */
    const connection = session[kOwner]
    if (connection === undefined) return
    // the client of a replaced connection is back already
    const lost = connection.endCode === null ? !session.left : connection.endCode === 'replaced'
    this.#parts.events.ended(connection, reason, lost)
    this.#parts.users.release(connection.uid)
  }

  /** @param {any} session @param {string | Buffer} message */
  onMessage (session, message) {
    const { events, heartbeat } = this.#parts
    heartbeat.heard(session, 'message')
    events.count(session, 1, message.length)
    if (session.readyState !== 'open') return
    /** @type {PlainConnection | undefined} */
    const connection = session[kOwner]
    if (connection !== undefined) this.#receive(connection, message)
    else if (session.early === null) this.#first(session, message)
    else {
      this.inputLimits.holds(session, message.length)
      session.early.push(typeof message === 'string' ? message : Buffer.from(message))
    }
  }

  /** @param {PlainConnection} connection @param {string | Buffer} message counted as input */
  #receive (connection, message) {
    if (!connection.open) return
    if (message.length <= LARGE) this.#read(connection, message)
    else this.#readLarge(connection, message)
  }

  /** @param {PlainSocket} session not admitted @param {string | Buffer} message */
  #first (session, message) {
    try {
      const read = readPlain(message, session.codec, this.#earlyValues)
      if (!('event' in read) || read.event !== CONNECT)
        throw new WrongPacket('connect', `the first message must be ${CONNECT}`)
      this.#admit(session, read.payload ?? {})
    } catch (error) {
      this.#note(error)
      this.#refuse(session, { ...publicError(new InkcastError('bad_value', /** @type {Error} */ (error).message)) })
    }
  }

  /** @param {PlainConnection} connection @param {string | Buffer} message that is counted before it is decoded */
  #readLarge (connection, message) {
    if (!connection.mayHandle()) {
      const id = idOf(message)
      if (id === undefined) return connection.disconnect('rate_limited')
      return connection.answer(id, connection.limited ?? RATE_LIMITED)
    }
    const before = this.clock.cpu()
    try {
      this.#read(connection, message, true)
    } finally {
      connection.decoded(this.clock.cpu() - before)
    }
  }

  /** @param {PlainConnection} connection @param {string | Buffer} message @param {boolean} [counted] */
  #read (connection, message, counted = false) {
    /** @type {ReturnType<typeof readPlain>} */
    let read
    try {
      read = readPlain(message, connection.codec)
    } catch (error) {
      return this.#wrong(connection, message, error)
    }
    if ('ack' in read) return connection.acknowledged(read.ack)
    const { event, payload, id } = read
    if (event === PING) return void connection.conn.write(undefined, { wsPreEncodedFrame: [PONG[connection.codec]] })
    const respond = (/** @type {object} */ answer) => { if (id !== undefined) connection.answer(id, answer) }
    if (!counted && !connection.mayHandle()) return respond(connection.limited ?? RATE_LIMITED)
    const args = payload === undefined ? [respond] : [payload, respond]
    handleEvent(connection, event, args, this.#context)
      .catch((error) => this.#context.log.error({ err: error }, 'event failed'))
  }

  /** @param {PlainConnection} connection @param {string | Buffer} message @param {unknown} error */
  #wrong (connection, message, error) {
    const { kind, text } = this.#note(error, connection)
    const id = kind === 'depth' || kind === 'values' ? idOf(message) : undefined
    if (id === undefined) connection.disconnect('bad_value', undefined, text)
    else connection.answer(id, answerTo(kind, error))
  }

  /** @param {unknown} error @param {PlainConnection} [connection] */
  #note (error, connection) {
    const kind = error instanceof WrongPacket ? error.kind : 'values'
    const text = /** @type {Error} */ (error).message
    this.#parts.undecoded(kind, text, connection)
    return { kind, text }
  }
}
