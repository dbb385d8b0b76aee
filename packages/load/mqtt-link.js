import mqttPacket from 'mqtt-packet'
import { EVENT, recordOf } from './packets.js'
import { NO_HEARTBEAT } from './plain-link.js'
import { openSocket } from './socket.js'

/**
 * MQTT 5 over TCP or TLS (docs/devices.md), with quality of service 1. A client with a token has a session, which
 * continues after a reconnect. One without asks for the newest records, and leaves out those that it has.
 */

const VERSION = { protocolVersion: 5 }
/** That a session outlasts its connection, s. */
const EXPIRY = 3600
/** Newest records for a client that has no session any more; docs/devices.md. */
const MAX_LAST = 1000
/** A client is gone after this many times its keep-alive. */
const PATIENCE = 1.5
const ANY_FAILURE = 0x80
/** No sharing of identifiers: a client waits for each answer. */
const SUBSCRIBE_ID = 1

class MqttLink {
  #wish
  #events
  #socket
  #closed = false
  /** s */
  #keepAlive
  /** @type {NodeJS.Timeout | undefined} */
  #pings
  /** Packets that are written together. @type {Buffer[]} */
  #out = []
  #lastId = SUBSCRIBE_ID
  /** Offsets at the connect: a record up to there may come once more. @type {Map<string, number>} */
  #before
  #parser = mqttPacket.parser(VERSION)

  /** @param {import('./link.js').Wish} wish @param {import('./link.js').Events} events */
  constructor (wish, events) {
    this.#wish = wish
    this.#events = events
    this.#keepAlive = Math.max(1, Math.round((wish.target.heartbeat ?? NO_HEARTBEAT).interval / 1000))
    this.#before = new Map(wish.documents.map((guid) => [guid, wish.positionOf(guid)?.offset ?? 0]))
    this.#parser.on('packet', (packet) => this.#packet(packet))
    this.#parser.on('error', (/** @type {Error} */ error) => this.#end(`no MQTT: ${error.message}`))
    this.#socket = openSocket(wish.target, wish.source, {
      onConnect: () => this.#connect(),
      onData: (chunk) => this.#data(chunk),
      onEnd: (reason) => this.#end(reason)
    })
  }

  /** PUBACK is the receipt. */
  acknowledge () {}

  /** @param {string} event @param {any} data */
  emit (event, { guid, event: signal, data }) {
    const messageId = this.#lastId = this.#lastId % 65_535 + 1
    const topic = event === 'doc:signal' ? `${topicOf(guid)}/signal/${signal}` : topicOf(guid)
    if (event === 'doc:join') this.#write({ cmd: 'subscribe', messageId, subscriptions: [{ topic, qos: 1 }] })
    else if (event === 'doc:leave') this.#write({ cmd: 'unsubscribe', messageId, unsubscriptions: [topic] })
    else {
      const qos = event === 'doc:send' ? 1 : 0
      this.#write({ cmd: 'publish', messageId, topic, payload: JSON.stringify(data), qos, dup: false, retain: false })
    }
    this.#flush()
  }

  silence () { clearInterval(this.#pings) }

  /** @param {boolean} back */
  close (back) {
    this.#closed = true
    clearInterval(this.#pings)
    if (this.#pings !== undefined) this.#write({
      cmd: 'disconnect', reasonCode: 0, ...(!back && this.#wish.resume && { properties: { sessionExpiryInterval: 0 } })
    })
    this.#flush()
    this.#socket.destroySoon()
  }

  /** @param {string} reason */
  #end (reason) {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#pings)
    this.#socket.destroy()
    this.#events.onEnd(reason)
  }

  #connect () {
    const { id, token, resume, session } = this.#wish
    this.#write({
      cmd: 'connect', protocolId: 'MQTT', ...VERSION, clientId: id, keepalive: this.#keepAlive,
      // a session whose subscriptions were not confirmed may lack them
      clean: !resume || !session.subscribed,
      username: id, ...(token !== undefined && { password: Buffer.from(token) }),
      properties: { sessionExpiryInterval: resume ? EXPIRY : 0 }
    })
    this.#flush()
  }

  /** @param {Buffer} chunk valid during this call only: the parser keeps a part of it @returns {boolean} */
  #data (chunk) {
    this.#parser.parse(Buffer.from(chunk))
    if (!this.#closed) this.#flush()
    return true
  }

  /** @param {any} packet */
  #packet (packet) {
    if (this.#closed) return
    switch (packet.cmd) {
      case 'publish': return this.#publish(packet)
      case 'connack': return this.#connected(packet)
      case 'suback': return this.#subscribed(packet)
      case 'disconnect': return this.#end(`disconnected: ${packet.properties?.reasonString ?? packet.reasonCode}`)
    }
  }

  /** @param {any} connack */
  #connected ({ reasonCode, sessionPresent, properties }) {
    if (reasonCode !== 0) return this.#end(`refused: ${properties?.reasonString ?? reasonCode}`)
    this.#keepAlive = properties?.serverKeepAlive ?? this.#keepAlive
    this.#pings = setInterval(() => {
      this.#write({ cmd: 'pingreq' })
      this.#flush()
    }, 1000 * this.#keepAlive).unref()
    const { documents, everyone } = this.#wish
    if (!sessionPresent && (documents.length > 0 || everyone)) this.#subscribe()
    else this.#ready()
  }

  #ready () {
    this.#events.onConnected(PATIENCE * 1000 * this.#keepAlive)
    for (const guid of this.#wish.documents) this.#events.onJoined(guid)
  }

  /** The session is new: the newest record says where a document is. */
  #subscribe () {
    const { documents, everyone } = this.#wish
    this.#wish.session.subscribed = false
    const topics = [...documents.map(topicOf), ...(everyone ? ['user'] : [])]
    const isBack = documents.some((guid) => this.#wish.positionOf(guid) !== undefined)
    this.#write({
      cmd: 'subscribe', messageId: SUBSCRIBE_ID, subscriptions: topics.map((topic) => ({ topic, qos: 1 })),
      properties: { userProperties: { last: String(isBack ? MAX_LAST : 1) } }
    })
  }

  /** @param {any} suback */
  #subscribed ({ messageId, granted }) {
    if (messageId !== SUBSCRIBE_ID) return
    const refused = granted.find((/** @type {number} */ code) => code >= ANY_FAILURE)
    if (refused !== undefined) return this.#end(`join refused: 0x${refused.toString(16)}`)
    this.#wish.session.subscribed = true
    for (const guid of this.#wish.documents) {
      // its log is empty
      if (this.#wish.positionOf(guid) === undefined) this.#events.onPosition(guid, { epoch: '', offset: 0 })
    }
    this.#ready()
  }

  /** @param {any} packet */
  #publish ({ qos, messageId, topic, payload, properties, retain }) {
    if (qos > 0) this.#write({ cmd: 'puback', messageId, reasonCode: 0 })
    const { 'x-event': event, 'x-offset': offset } = properties?.userProperties ?? {}
    const record = event === EVENT ? recordOf(payload, 0) : undefined
    if (record === undefined) return
    record.offset = offset === undefined ? undefined : Number(offset)
    if (record.offset !== undefined) {
      const guid = topic.slice(DOCUMENT.length)
      if (this.#wish.positionOf(guid) === undefined)
        this.#events.onPosition(guid, { epoch: '', offset: retain ? record.offset : record.offset - 1 })
      if (retain || record.offset <= (this.#before.get(guid) ?? 0)) {
        const position = this.#wish.positionOf(guid)
        if (position !== undefined && record.offset <= position.offset) return
      }
    }
    this.#events.onRecord(record)
  }

  /** @param {any} packet */
  #write (packet) { this.#out.push(mqttPacket.generate(packet, VERSION)) }

  #flush () {
    if (this.#out.length === 0) return
    this.#socket.write(this.#out.length === 1 ? this.#out[0] : Buffer.concat(this.#out))
    this.#out = []
  }
}

const DOCUMENT = 'doc/'
/** @param {string} guid of this tool: nothing in it is escaped */
const topicOf = (guid) => DOCUMENT + guid

/**
 * @param {import('./link.js').Wish} wish
 * @param {import('./link.js').Events} events
 * @returns {import('./link.js').Link}
 */
export const openMqtt = (wish, events) => new MqttLink(wish, events)
