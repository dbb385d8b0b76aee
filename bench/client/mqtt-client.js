import net from 'node:net'
import mqttPacket from 'mqtt-packet'
import { READ_BUFFER } from '../../packages/load/socket.js'
import { OpeningClient } from './opening-client.js'

/** Interval of PINGREQ, ms: that of Engine.IO's heartbeat. To compare, set NETWORK=25000:25000:20000. */
const KEEP_ALIVE = 25_000
const VERSION = { protocolVersion: 5 }
const [CONNACK, PUBLISH, PUBACK, SUBACK] = [2, 3, 4, 9]
const PINGREQ = Buffer.from([0xc0, 0])
/** MQTT 5, 3.8.3.1: no retained messages. */
const NO_RETAINED = 2
/** Bits of the first byte of PUBLISH. */
const QOS = 0x06
const EMPTY = Buffer.alloc(0)

/**
 * A client of MQTT 5 on a bare TCP socket: CONNECT with a clean start and no session that outlasts it, and SUBSCRIBE to
 * one document with quality of service 1. It checks reason codes, and answers each record with PUBACK.
 */
export class MqttClient extends OpeningClient {
  /** quality of service @type {0 | 1} */
  qos = 1
  #member
  #socket
  #rest = EMPTY
  /** identifiers of records, answered after each read @type {number[]} */
  #unanswered = []
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {import('./websocket-client.js').Target} target
   * @param {import('./websocket-client.js').Member} member
   * @param {import('./websocket-client.js').Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client has subscribed, or failed
   */
  constructor (target, member, listeners, settle) {
    super(listeners, settle)
    this.#member = member
    this.#socket = net.connect({
      ...target,
      localAddress: member.source,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length, buffer) => this.#data(/** @type {Buffer} */ (buffer).subarray(0, length))
      }
    })
    this.#socket.on('connect', () => this.#connect())
    this.#socket.on('error', (error) => this.fail(error.message))
    this.#socket.on('close', () => this.fail('closed by the server'))
  }

  /** @override */
  close () {
    super.close()
    clearInterval(this.#timer)
    this.#socket.destroy()
  }

  #connect () {
    this.#send({
      cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clean: true, keepalive: KEEP_ALIVE / 1000,
      clientId: `device-${this.#socket.localAddress}-${this.#socket.localPort}`,
      username: 'device', password: Buffer.from(this.#member.token)
    })
  }

  /** @param {Buffer} chunk valid during this call only */
  #data (chunk) {
    const rest = readPackets(this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]), this.#packet)
    this.#rest = rest.length === 0 ? EMPTY : Buffer.from(rest)
    if (this.#unanswered.length > 0) this.#answer()
    return true
  }

  /** @param {Buffer} packet valid during the call only @param {number} at behind its length */
  #packet = (packet, at) => {
    const type = packet[0] >> 4
    if (this.state === 'open') {
      if (type === PUBLISH) this.#record(packet, at)
    } else if (this.state === 'opening') {
      const reason = packet[at + 1] // behind the flags
      if (type !== CONNACK || reason !== 0) return this.fail(`refused: packet ${type}, reason ${reason}`)
      this.joins()
      const subscription = { topic: `doc/${this.#member.guid}`, qos: this.qos, rh: NO_RETAINED }
      this.#send({ cmd: 'subscribe', messageId: 1, subscriptions: [subscription] })
    } else if (this.state === 'joining' && type === SUBACK) {
      const granted = packet[packet.length - 1]
      if (granted !== this.qos) return this.fail(`refused: reason ${granted}`)
      this.#timer = setInterval(() => this.#socket.write(PINGREQ), KEEP_ALIVE)
      this.opened()
    }
  }

  /** @param {Buffer} packet PUBLISH @param {number} at behind its length */
  #record (packet, at) {
    at += 2 + packet.readUInt16BE(at)
    if ((packet[0] & QOS) !== 0) {
      this.#unanswered.push(packet.readUInt16BE(at))
      at += 2
    }
    const properties = readLength(packet, at)
    this.received(packet, properties.end + properties.value)
  }

  #answer () {
    const ids = this.#unanswered
    const bytes = Buffer.allocUnsafe(4 * ids.length)
    for (const [i, id] of ids.entries()) bytes.writeUInt32BE(PUBACK << 28 | 2 << 16 | id, 4 * i)
    this.#unanswered = []
    this.#socket.write(bytes)
  }

  /** @param {import('mqtt-packet').Packet} packet */
  #send (packet) { this.#socket.write(mqttPacket.generate(packet, VERSION)) }
}

/** The same with quality of service 0, which is answered by neither side. */
export class MqttClientOfQos0 extends MqttClient {
  /** @override @type {0 | 1} */
  qos = 0
}

/**
 * @param {Buffer} bytes
 * @param {(packet: Buffer, at: number) => void} onPacket at: behind its length
 * @returns {Buffer} the rest: the beginning of a packet, or empty
 */
function readPackets (bytes, onPacket) {
  let from = 0
  while (bytes.length - from >= 2) {
    const { value, end } = readLength(bytes, from + 1)
    if (bytes.length < end + value) break
    onPacket(bytes.subarray(from, end + value), end - from)
    from = end + value
  }
  return bytes.subarray(from)
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {{ value: number, end: number }} a length of MQTT, and the place behind it
 */
function readLength (bytes, at) {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    if (byte === undefined) return { value: Infinity, end: at }
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return { value, end: at }
  }
}
