import { InkcastError } from '../../base/common/errors.js'
import { endSocket, responseOf } from '../../base/process/socket-times.js'
import { happened } from '../../observe/metrics/points.js'
import { LARGE } from '../../transport/admission/message-bounds.js'
import { kOwner } from '../../transport/engine/link.js'
import { headSize } from '../../transport/engine/request.js'
import { createClosing } from '../../transport/engine/socket-reader.js'
import { NOTHING } from '../../transport/mqtt/mqtt-input.js'
import { MqttSocket } from '../../transport/mqtt/mqtt-socket.js'
import { MqttWebSocket } from '../../transport/mqtt/mqtt-websocket.js'
import { MqttError } from '../../transport/mqtt/packet-reader.js'
import { OtherVersion, PacketDecoder, Type, decodeConnect, encodePacket, plainPuback } from '../../transport/mqtt/packets.js'
import { opensWebSocket } from '../../transport/plain/handshake-request.js'
import { OTHER_VERSION, Reason, connackOf } from './codes.js'
import { connackFor, readConnect } from './connect.js'
import { KeptPackets } from './kept-packets.js'
import { MqttConnection, encodeShort, fits } from './mqtt-connection.js'
import { MqttSessions } from './mqtt-sessions.js'
import { publish, sendWill } from './publish.js'
import { subscribe, unsubscribe } from './subscribe.js'

/** The subprotocol of MQTT over WebSocket [MQTT-6.0.0-3]. */
const PROTOCOL = 'mqtt'
const PINGREQ = Buffer.from([0xc0, 0])
const PINGRESP = Buffer.from([0xd0, 0])
/** A client is gone after this many times its keep-alive [MQTT-3.1.2-24] [MQTT5-3.1.2-22]. */
const PATIENCE = 1.5
/** Interval of TCP's own probes, which find a client that is gone without a keep-alive, ms. */
const PROBES = 300_000
const HOW = JSON.stringify({
  code: 'bad_request', message: 'this path is for WebSockets of version 13 with the subprotocol mqtt'
})

/**
 * The door for MQTT 3.1.1 and 5 (docs/devices.md). Walls before and after the login are those of Socket.IO's door, and
 * so are the handlers.
 *
 * @typedef {import('../../transport/mqtt/mqtt-input.js').MqttSession} MqttSession
 * @typedef {import('../../transport/mqtt/mqtt-input.js').MqttServer} MqttServer
 * @typedef {import('../../transport/engine/request.js').Upgrade} Upgrade
 *
 * @typedef {import('./mqtt-connection.js').Offer} Offer
 *
 * @typedef {object} State of a session, besides its connection
 * @property {'new' | 'admitting' | 'admitted'} phase
 * @property {Buffer[]} [early] packets that came during the admission
 * @property {boolean} left whether the client has said goodbye
 * @property {number} [expiry] of the session, as DISCONNECT says, s
 * @property {import('./publish.js').Message} [will] what is sent if it does not
 */

/** Offers that are kept; further ones have objects of their own. */
const MAX_OFFERS = 64
/** The state of a session without a will: the same for all. @type {State} */
const ADMITTED = Object.freeze({ phase: 'admitted', left: false })

/** @implements {MqttServer} */
export class MqttDoor {
  #parts
  #context
  #decoder = new PacketDecoder()
  /** Those that outlast their connection. */
  #sessionsKept
  /** @type {Map<MqttSession, State>} bounded by MAX_CONNECTIONS */
  #sessions = new Map()
  /** Offers of clients: those of a kind say the same, and have one object. @type {Map<string, Offer>} */
  #offers = new Map()

  /**
   * @param {import('../handlers/context.js').HandlerContext} context
   * @param {import('../../config/listeners.js').Listener} listener
   * @param {import('../door-contract.js').DoorParts} parts
   */
  constructor (context, listener, parts) {
    this.listener = listener
    this.#parts = parts
    this.#context = { ...context, userLogs: parts.userLogs }
    this.#sessionsKept = new MqttSessions(parts.clientSessions, this.#context)
    this.maxBytes = parts.admission.maxBytes
    this.inputLimits = parts.admission.inputLimits
    this.clock = context.clock
    this.closing = createClosing(context.clock)
  }

  /** Open sessions, and those that are being written. */
  get size () { return this.#sessions.size + this.#sessionsKept.writing }

  /** Whether the worker stops, rather than giving some of its clients to others. */
  get draining () { return this.#parts.drain.active }

  close () { for (const session of [...this.#sessions.keys()]) session.close(true) }

  /** @param {{ url?: string }} request @returns {boolean} whether it is for this door */
  isFor ({ url = '' }) {
    const at = url.indexOf('?')
    return this.listener.path !== undefined && (at === -1 ? url : url.slice(0, at)) === this.listener.path
  }

  /**
   * @param {Upgrade} request
   * @param {import('net').Socket} netSocket
   * @param {Buffer} rest bytes after the request
   * @returns {boolean} false: it is refused, by `handleUpgrade`
   */
  take (request, netSocket, rest) {
    const { admission, newId } = this.#parts
    const offered = request.headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? []
    if (!offered.includes(PROTOCOL) || !opensWebSocket(request)) return false
    if (!admission.origins.mayConnect(request.headers)) return false
    admission.handshakeLimit.enter(netSocket, undefined, () => {
      if (netSocket.destroyed) return
      const session = new MqttWebSocket(newId(), this, request, netSocket)
      this.#open(session, headSize(request))
      admission.connectionLimits.opened(session)
      session.writeNow(session.answer(PROTOCOL))
      if (rest.length > 0) session.received(Buffer.from(rest))
    }, request)
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

  /** A connection to a port of this door. @param {import('net').Socket} netSocket */
  accept (netSocket) { this.#open(new MqttSocket(this.#parts.newId(), this, netSocket), 0) }

  /** @param {MqttSession} session @param {number} head bytes of its request */
  #open (session, head) {
    this.#sessions.set(session, { phase: 'new', left: false })
    this.inputLimits.enter(session, head)
    this.#parts.heartbeat.watch(session)
  }

  // Admission

  /** @param {MqttSession} session @param {State} state @param {Buffer} bytes of its first packet */
  #first (session, state, bytes) {
    /** @type {ReturnType<typeof decodeConnect>} */
    let packet
    try {
      packet = decodeConnect(bytes, this.#decoder)
    } catch (error) {
      this.#parts.undecoded('mqtt', /** @type {Error} */ (error).message)
      // [MQTT-3.1.2-2]; before CONNACK nothing else is sent [MQTT-3.1.4-1]
      if (error instanceof OtherVersion) session.writeFrames(encodePacket(refusal(OTHER_VERSION), 4))
      return session.close(true)
    }
    const { protocolVersion: version, keepalive } = packet
    const maxPacket = packet.properties?.maximumPacketSize ?? 0
    try {
      const wish = readConnect(packet, this.#parts.newId)
      this.#checkSize(wish, keepalive)
      state.phase = 'admitting'
      session.handshake = { ...session.handshake, auth: wish.auth }
      if (session instanceof MqttWebSocket) return void this.#admit(session, state, wish, keepalive)
      this.#parts.admission.handshakeLimit.enter(
        session.netSocket,
        (/** @type {InkcastError} */ error) => this.#refuse(session, wish.offer, error),
        () => { if (session.readyState === 'open') this.#admit(session, state, wish, keepalive) },
        this.#counted(session)
      )
    } catch (error) {
      this.#refuse(session, { version, maxPacket }, error)
    }
  }

  /** @param {import('./connect.js').Wish} wish @param {number | undefined} keepalive @throws {MqttError} */
  #checkSize (wish, keepalive) {
    const { offer, expiry } = wish
    if (offer.maxPacket === 0) return
    const connack = connackFor(wish, { keepalive, sessionPresent: false, expiry, maxBytes: this.maxBytes })
    if (!fits(connack, offer))
      throw new MqttError(Reason.TOO_LARGE, 'the largest packet that the client takes is smaller than CONNACK')
  }

  /** @param {MqttSession} session @returns {any} a request for the limits, as of other doors */
  #counted (session) {
    const request = { headers: {} }
    Object.assign(session, { request })
    return request
  }

  /**
   * @param {MqttSession} session
   * @param {State} state
   * @param {import('./connect.js').Wish} wish
   * @param {number | undefined} keepalive that the client asked for, s
   */
  async #admit (session, state, wish, keepalive) {
    const { admission, handshake, users } = this.#parts
    try {
      if (session instanceof MqttSocket) admission.connectionLimits.opened(session)
      if (this.draining) throw new InkcastError('draining')
      const admitted = await handshake.admitted(/** @type {any} */ (session))
      const { uid, anonymous } = admitted.identity
      try {
        const topics = await this.#sessionsKept.find(uid, wish, anonymous)
        if (session.readyState === 'open') return this.#connect(session, state, wish, { keepalive, topics, ...admitted })
      } catch (error) {
        users.release(uid)
        throw error
      }
      users.release(uid)
    } catch (error) {
      this.#refuse(session, wish.offer, error)
    }
  }

  /**
   * @param {MqttSession} session
   * @param {State} state
   * @param {import('./connect.js').Wish} wish
   * @param {import('../handshake.js').Admission & {
   *   keepalive: number | undefined, topics: import('./subscribe.js').Topic[] | null }} admission
   * @throws {InkcastError} rate_limited, without any effect
   */
  #connect (session, state, wish, { identity, keepalive, topics }) {
    const { connectionContext, events } = this.#parts
    const { metrics, connectionListeners } = this.#context
    const offer = this.#shared(wish.offer)
    const connection = new MqttConnection(session, identity, wish.client, connectionContext, offer)
    const expiry = this.#sessionsKept.grant(connection, wish.expiry, topics === null)
    session[kOwner] = connection
    metrics.handshakes.count('ok', this.listener.name)
    this.inputLimits.admit(session)
    session.request = null
    session.handshake = NOTHING
    session.silence = wish.keepAlive === 0 ? Infinity : Math.trunc(PATIENCE * 1000 * wish.keepAlive)
    if (wish.keepAlive === 0) session.netSocket.setKeepAlive(true, PROBES)
    this.#sessions.set(session, wish.will === undefined ? ADMITTED : { ...ADMITTED, will: wish.will })
    events.add(connection)
    const sessionPresent = topics !== null
    const granted = { keepalive, sessionPresent, expiry, maxBytes: this.maxBytes }
    connection.write(connackFor(wish, granted, offer.kept))
    connectionListeners.connected(connection)
    if (happened.hasSubscribers)
      connection.tell('connected', { details: { transport: connection.transport, codec: 'mqtt' } })
    const { early = [] } = state
    if (events.sentAway(connection)) return
    this.#sessionsKept.begin(connection, expiry, topics)
    for (const bytes of early) {
      this.inputLimits.holds(session, -bytes.length)
      this.#receive(connection, bytes)
    }
  }

  /** @param {Offer} offer @returns {Offer} with the same values */
  #shared (offer) {
    const key = Object.values(offer).join()
    const known = this.#offers.get(key)
    if (known !== undefined) return known
    if (this.#offers.size === MAX_OFFERS) return offer
    offer.kept = new KeptPackets()
    this.#offers.set(key, offer)
    return offer
  }

  /**
   * @param {MqttSession} session not admitted
   * @param {Pick<import('./mqtt-connection.js').Offer, 'version' | 'maxPacket'>} offer
   * @param {unknown} error
   */
  #refuse (session, offer, error) {
    if (session.readyState !== 'open') return
    const { version } = offer
    const { reason, text } = error instanceof MqttError
      ? { reason: version === 5 ? error.reason : connackOf('forbidden', 4), text: error.message }
      : this.#refusalOf(error, version)
    const bytes = encodeShort(refusal(reason, text), { ...offer, explains: true })
    if (fits(bytes, offer)) session.writeFrames(bytes)
    session.close(true)
  }

  /** @param {unknown} error @param {import('../../transport/mqtt/packets.js').Version} version */
  #refusalOf (error, version) {
    const { code, message } = this.#parts.handshake.refusal(error, this.listener.name)
    return { reason: connackOf(code, version), text: `${code}: ${message}` }
  }

  // MqttServer

  /** @param {MqttSession} session @param {number} frames */
  onFrames (session, frames) { this.#parts.events.count(session, frames, 0) }

  /** @param {any} session */
  ended (session) {
    const { admission, heartbeat } = this.#parts
    admission.connectionLimits.ended(session)
    admission.inputLimits.leave(session)
    heartbeat.forget(session)
  }

  /** @param {any} session @param {string} reason */
  onEnd (session, reason) {
    const { will, left, expiry } = /** @type {State} */ (this.#sessions.get(session))
    this.#sessions.delete(session)
    /** @type {MqttConnection | undefined} */
    const connection = session[kOwner]
    if (connection === undefined) return
    const { users, events } = this.#parts
    this.#sessionsKept.end(connection, expiry)
    connection.ends()
    // the client of a replaced connection is back already
    events.ended(connection, reason, connection.endCode === null ? !left : connection.endCode === 'replaced')
    const sent = will === undefined || connection.moves
      ? Promise.resolve()
      : sendWill(connection, will, this.#context).catch((error) => this.#context.log.error({ err: error }, 'a will was not sent'))
    // the rights of the user are known until then
    sent.finally(() => users.release(connection.uid))
  }

  /** @param {any} session @param {MqttError} error */
  onWrong (session, error) {
    /** @type {MqttConnection | undefined} */
    const connection = session[kOwner]
    this.#parts.undecoded('mqtt', error.message, connection)
    if (connection === undefined) session.close(true)
    else connection.endWith(error.reason, error.message)
  }

  /** @param {any} session that has sent a whole packet */
  heard (session) { this.#parts.heartbeat.heard(session, 'message') }

  /**
   * @param {any} session
   * @param {Buffer} chunk valid during this call
   * @param {number} from where a packet begins in it
   * @param {number} to
   */
  onPacket (session, chunk, from, to) {
    /** @type {MqttConnection | undefined} */
    const connection = session[kOwner]
    // the gateway asked for it, so it does not count against the client's rate limit
    const id = plainPuback(chunk, from, to)
    if (id !== 0 && connection?.taken(id)) return
    const { events } = this.#parts
    const bytes = chunk.subarray(from, to)
    if (connection !== undefined) {
      if (id === 0 && bytes[0] >> 4 === Type.PUBACK && connection.taken(this.#idOf(connection, bytes))) return
      events.count(session, 1, bytes.length)
      return this.#receive(connection, bytes)
    }
    events.count(session, 1, bytes.length)
    if (session.readyState !== 'open') return
    const state = /** @type {State} */ (this.#sessions.get(session))
    if (state.phase === 'new') return this.#first(session, state, bytes)
    this.inputLimits.holds(session, bytes.length)
    ;(state.early ??= []).push(Buffer.from(bytes))
  }

  /** @param {MqttConnection} connection @param {Buffer} bytes of a PUBACK @returns {number} 0: it is malformed */
  #idOf (connection, bytes) {
    try {
      return /** @type {any} */ (this.#decoder.decode(bytes, connection.offer.version)).messageId
    } catch {
      return 0
    }
  }

  /** @param {MqttConnection} connection @param {Buffer} bytes of a packet that is counted */
  #receive (connection, bytes) {
    if (!connection.open) return
    if (bytes.equals(PINGREQ)) return connection.write(PINGRESP) // [MQTT-3.12.4-1]
    const large = bytes.length > LARGE
    const before = large ? this.clock.cpu() : 0
    try {
      this.#handle(connection, this.#decoder.decode(bytes, connection.offer.version))
    } catch (error) {
      if (!(error instanceof MqttError)) throw error
      this.onWrong(connection.conn, error)
    } finally {
      if (large) connection.decoded(this.clock.cpu() - before)
    }
  }

  /** @param {MqttConnection} connection @param {any} packet with views of the received bytes */
  #handle (connection, packet) {
    const context = this.#context
    const save = () => this.#sessionsKept.save(connection)
    switch (packet.cmd) {
      case 'publish': return this.#follow(connection, publish(connection, packet, context))
      case 'subscribe': return this.#follow(connection, subscribe(connection, packet, context, save))
      case 'unsubscribe': return this.#follow(connection, unsubscribe(connection, packet, context, save))
      case 'puback': return undefined
      case 'disconnect': return this.#leaves(connection, packet)
    }
    throw new MqttError(Reason.PROTOCOL_ERROR, `${packet.cmd} is not expected here`)
  }

  /** @param {MqttConnection} connection @param {any} packet */
  #leaves (connection, { reasonCode = Reason.OK, properties }) {
    const { conn } = connection
    const state = this.#sessions.get(conn)
    const expiry = properties?.sessionExpiryInterval
    if (expiry > 0 && !this.#sessionsKept.has(connection)) // MQTT 5, 3.14.2.2.2
      throw new MqttError(Reason.PROTOCOL_ERROR, 'there is no session that could last')
    if (state !== undefined) {
      // [MQTT-3.14.4-3]; with any other reason the will is sent [MQTT5-3.14.4-3]
      const kept = reasonCode === Reason.OK ? { left: true, will: undefined } : {}
      this.#sessions.set(conn, { ...state, expiry, ...kept })
    }
    conn.leave()
  }

  /** @param {MqttConnection} connection @param {Promise<void>} handled */
  #follow (connection, handled) {
    handled.catch((error) => {
      if (error instanceof MqttError) {
        if (connection.open) this.onWrong(connection.conn, error)
      } else this.#context.log.error({ err: error }, 'a packet failed')
    })
  }
}

/** @param {number} code @param {string} [reasonString] @returns {any} CONNACK */
const refusal = (code, reasonString) => ({
  cmd: 'connack', sessionPresent: false, reasonCode: code, returnCode: code,
  ...(reasonString !== undefined && { properties: { reasonString } })
})
