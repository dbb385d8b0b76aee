import { EventEmitter } from 'node:events'
import net from 'node:net'
import mqttPacket from 'mqtt-packet'

/** Settings of a cluster with a door for MQTT. */
export const MQTT_PORT = 1883
export const MQTT_LISTENER = `mqtt://0.0.0.0:${MQTT_PORT}`
/** Where clients connect: a balancer in front of all gateways. */
export const MQTT_PUBLIC = `balancer:${MQTT_PORT}`
/** Keep-alive, and interval of the client's pings, ms. */
const KEEP_ALIVE = 20_000
const PING = 15_000
/** After this number of pings without any packet the connection is dead. */
const SILENT = 2
/** The session outlasts the connection, s. */
const EXPIRY = 3600

/**
 * @typedef {object} LineOptions
 * @property {4 | 5} version
 * @property {string} client id
 * @property {string} token
 * @property {number} [receiveMaximum]
 * @property {number} handlesAfter ms until it has handled a record, so that it may acknowledge it; 0: at once
 */

/** One connection of an MQTT client: packets are events of their names, `end` is its end. */
export class MqttLine extends EventEmitter {
  isOpen = true
  /** Whether the gateway has continued a session. */
  isResumed = false
  isAdmitted = false
  /** Reason of the gateway's DISCONNECT. @type {number | undefined} */
  reason
  #process
  #options
  #socket
  #last = 0
  /** Pings since the last packet. */
  #silent = 0

  /**
   * In a turn of the process.
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {LineOptions} options
   */
  constructor (process, options) {
    super()
    this.#process = process
    this.#options = options
    const { version, client, token, receiveMaximum } = options
    const [host, port] = MQTT_PUBLIC.split(':')
    const socket = this.#socket = net.connect({ host, port: Number(port) })
    const parser = mqttPacket.parser({ protocolVersion: version })
    parser.on('packet', (packet) => this.#receive(packet))
    parser.on('error', (error) => { throw error })
    socket.on('error', () => {})
    socket.on('data', (chunk) => { if (this.isOpen) parser.parse(chunk) })
    socket.on('close', () => this.destroy())
    const pings = process.clock.every(PING, () => this.#ping())
    this.once('end', () => pings.stop())
    this.send({
      cmd: 'connect', protocolId: 'MQTT', protocolVersion: version, clientId: client, clean: false,
      keepalive: KEEP_ALIVE / 1000, username: 'device', password: Buffer.from(token),
      ...version === 5 && { properties: { sessionExpiryInterval: EXPIRY, ...receiveMaximum && { receiveMaximum } } }
    })
  }

  /** A fault has made that nothing passes it any more: its client notices that itself. */
  get isDead () { return /** @type {any} */ (this.#socket).line.isDead }

  /** @param {any} packet */
  send (packet) {
    if (this.isOpen) this.#socket.write(mqttPacket.generate(packet, { protocolVersion: this.#options.version }))
  }

  /** @param {string[]} topics without retained messages where the version can say so */
  subscribe (topics) {
    const subscriptions = topics.map((topic) => ({ topic, qos: 1, rh: 2, nl: false, rap: false }))
    this.send({ cmd: 'subscribe', messageId: ++this.#last, subscriptions })
    return this.#last
  }

  /** @param {any} packet PUBLISH of quality 1 */
  acknowledge ({ messageId }) { this.send({ cmd: 'puback', messageId, reasonCode: 0 }) }

  /** Says goodbye; the session stays. */
  leave () {
    this.send({ cmd: 'disconnect', reasonCode: 0 })
    this.destroy()
  }

  destroy () {
    if (!this.isOpen) return
    this.isOpen = false
    this.#socket.end()
    this.emit('end')
  }

  #ping () {
    if (++this.#silent > SILENT) {
      this.#socket.destroy()
      this.destroy()
    } else if (this.isAdmitted) this.send({ cmd: 'pingreq' })
  }

  /** @param {any} packet */
  #receive (packet) {
    if (!this.isOpen) return
    this.#silent = 0
    if (packet.cmd === 'disconnect') this.reason = packet.reasonCode
    if (packet.cmd === 'connack' && (packet.reasonCode ?? packet.returnCode) === 0) {
      this.isAdmitted = true
      this.isResumed = packet.sessionPresent
    }
    const { handlesAfter } = this.#options
    if (packet.cmd !== 'publish' || handlesAfter === 0) return void this.emit(packet.cmd, packet)
    // at the end of the connection it loses those that it has not handled
    this.#process.clock.timer(handlesAfter, () => { if (this.isOpen) this.emit(packet.cmd, packet) })
  }
}
