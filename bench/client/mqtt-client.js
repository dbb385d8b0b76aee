import net from 'node:net'
import mqttPacket from 'mqtt-packet'
import { READ_BUFFER } from '../../packages/load/socket.js'
import { OpeningClient } from './opening-client.js'

/** Interval of PINGREQ, ms: that of Engine.IO's heartbeat. To compare, set NETWORK=25000:25000:20000. */
const KEEP_ALIVE = 25_000
const VERSION = { protocolVersion: 5 }
const [CONNACK, SUBACK] = [2, 9]
const PINGREQ = Buffer.from([0xc0, 0])
/** MQTT 5, 3.8.3.1: no retained messages. */
const NO_RETAINED = 2

/**
 * A client of MQTT 5 on a bare TCP socket: CONNECT with a clean start and no session that outlasts it, and SUBSCRIBE to
 * one document with quality of service 1. It checks reason codes, and drops what follows.
 */
export class MqttClient extends OpeningClient {
  #member
  #socket
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {import('./websocket-client.js').Target} target
   * @param {import('./websocket-client.js').Member} member
   * @param {Pick<import('./websocket-client.js').Listeners, 'onLost'>} listeners
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
        callback: (_length, buffer) => {
          this.#packet(/** @type {Buffer} */ (buffer))
          return true
        }
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

  /** @param {Buffer} bytes that begin with the answer: nothing else comes before it */
  #packet (bytes) {
    const type = bytes[0] >> 4
    if (this.state === 'opening') {
      // behind the length of one byte, or of two, and the flags
      const reason = bytes[bytes[1] > 127 ? 4 : 3]
      if (type !== CONNACK || reason !== 0) return this.fail(`refused: packet ${type}, reason ${reason}`)
      this.joins()
      const subscription = { topic: `doc/${this.#member.guid}`, qos: /** @type {const} */ (1), rh: NO_RETAINED }
      this.#send({ cmd: 'subscribe', messageId: 1, subscriptions: [subscription] })
    } else if (this.state === 'joining' && type === SUBACK) {
      const granted = bytes[bytes[1] + 1]
      if (granted !== 1) return this.fail(`refused: reason ${granted}`)
      this.#timer = setInterval(() => this.#socket.write(PINGREQ), KEEP_ALIVE)
      this.opened()
    }
  }

  /** @param {import('mqtt-packet').Packet} packet */
  #send (packet) { this.#socket.write(mqttPacket.generate(packet, VERSION)) }
}
