import { once } from 'node:events'
import mqtt from 'mqtt'
import { documentTopic, signalTopic } from '../../../src/wire/mqtt-topic.js'
import { DoorClient } from './door-client.js'

/** Signals that a client subscribes to with each document. */
const SIGNALS = ['cursor']
/** Seconds that its session outlasts its connection. */
const EXPIRY = 600
const NO_RETAINED = 2

/** @param {number} reason code of version 5 @returns {string | undefined} undefined: no error */
const codeOf = (reason) => reason < 0x80 && reason !== 0x11 ? undefined : `0x${reason.toString(16)}`

/**
 * By error: the reason codes of version 5 that stand for it.
 * @type {Record<string | number, RegExp>}
 */
const REASONS = {
  unauthorized: /^0x86$/, token_expired: /^0x86$/, banned: /^0x8a$/, too_many_connections: /^0x97$/,
  forbidden: /^0x87$/, not_joined: /^0x(?:11|83)$/, bad_request: /^0x(?:8f|90)$/, reserved_event: /^0x90$/,
  too_many_documents: /^0x97$/, bad_value: /^0x(?:81|82|99)$/, value_too_large: /^0x97$/, rate_limited: /^0x9[67]$/,
  kicked: /^0x98$/, 1005: /^0x8b$/, 1009: /^0x95$/, 1013: /^0x97$/
}
/** Return codes of 3.1.1; a connection ends without one. @type {Record<string | number, RegExp>} */
const RETURN_CODES = { unauthorized: /^4$/, token_expired: /^4$/, banned: /^5$/, too_many_connections: /^3$/ }

/** MQTT.js, with quality of service 1. */
class MqttDoorClient extends DoorClient {
  #client
  #version
  #login
  /** Of a DISCONNECT of the gateway. */
  #reason = ''
  /** Acknowledgements of a client that reads nothing. @type {(() => void)[] | null} */
  #withheld = null

  /**
   * @param {import('mqtt').MqttClient} client that is connecting
   * @param {4 | 5} version
   * @param {import('./door-client.js').Login & { client: string }} login
   */
  constructor (client, version, login) {
    super()
    this.#client = client
    this.#version = version
    this.#login = login
    client.on('error', () => {})
    client.on('disconnect', (/** @type {any} */ packet) => this.#told(packet))
    // MQTT.js reads no further until the callback
    client.handleMessage = (packet, done) => {
      this.#receive(/** @type {any} */ (packet))
      if (this.#withheld === null) done()
      else this.#withheld.push(() => done())
    }
    this.ended = new Promise((resolve) => client.once('close', () => resolve(this.#reason)))
  }

  /** @param {any} packet DISCONNECT */
  #told ({ reasonCode, properties }) {
    this.#reason = `0x${reasonCode.toString(16)}`
    const ms = properties?.userProperties?.retryInMs
    const payload = {
      code: this.#reason, retryable: ms !== undefined, ...(ms !== undefined && { retryInMs: Number(ms) })
    }
    this.received.push({ event: 'gateway:disconnect', payload })
  }

  /** @param {any} packet */
  #receive ({ topic, payload: bytes, properties, retain }) {
    // 3.1.1 cannot leave out the newest record
    if (retain) return
    const value = JSON.parse(bytes.toString())
    if (topic === 'gateway') return this.received.push(value)
    const [, guid, , signal] = topic.split('/')
    const own = properties?.userProperties ?? {}
    const offset = own['x-offset'] === undefined ? undefined : Number(own['x-offset'])
    const meta = { guid: guid && decodeURIComponent(guid), offset, traceId: own['x-trace-id'] }
    return this.received.push({ event: own['x-event'] ?? signal ?? 'message', payload: value, meta })
  }

  async connected () {
    const [connack] = await Promise.race([
      once(/** @type {any} */ (this.#client), 'connect'),
      once(/** @type {any} */ (this.#client), 'error').then(([error]) => {
        throw Object.assign(error, { code: this.#version === 5 ? codeOf(error.code) : String(error.code) })
      })
    ])
    this.resumed = connack.sessionPresent
    // also what a session has: `gateway` has no log
    await this.#client.subscribeAsync(['gateway', 'user'], { qos: 1 })
    return this
  }

  /** @override */
  returns () { return this.#login }

  /** @override @param {string} event @param {any} payload */
  async ask (event, { guid, ...payload }) {
    try {
      await this.#asked(event, documentTopic(guid), { guid, ...payload })
      return { ok: true, guid }
    } catch (error) {
      const { code, packet, message } = /** @type {any} */ (error)
      const reason = code ?? packet.granted.find((/** @type {number} */ granted) => granted >= 0x80)
      return { ok: false, error: { code: codeOf(reason), message } }
    }
  }

  /** @param {string} event @param {string} topic @param {any} payload @returns {Promise<unknown>} */
  async #asked (event, topic, { guid, event: signal, data }) {
    const client = this.#client
    const value = JSON.stringify(data)
    const topics = [topic, ...SIGNALS.map((name) => signalTopic(guid, name))]
    switch (event) {
      case 'doc:join': return client.subscribeAsync(topics, { qos: 1, rh: NO_RETAINED })
      case 'doc:leave': {
        const packet = /** @type {any} */ (await client.unsubscribeAsync(topics))
        if (packet.granted?.[0] > 0) throw Object.assign(new Error('no subscription'), { code: packet.granted[0] })
        return packet
      }
      case 'doc:send': return client.publishAsync(topic, value, { qos: 1 })
      case 'doc:signal': return client.publishAsync(signalTopic(guid, signal), value, { qos: 1 })
    }
    throw new Error(`no packet is ${event}`)
  }

  /** @override */
  close () { this.#client.end() }

  /** @override */
  cut () { this.#client.stream.destroy() }

  /** @override @param {boolean} wanted */
  reads (wanted) {
    const withheld = this.#withheld ?? []
    this.#withheld = wanted ? null : withheld
    if (wanted) for (const done of withheld) done()
  }

  /** @override @param {number} [length] */
  sendGarbage (length) {
    // a PUBACK with wrong flags, or the head of a long PUBLISH
    this.#client.stream.write(Buffer.from(length === undefined ? [0x4f, 0] : [0x30, 0xff, 0xff, 0xff, 0x7f]))
  }
}

/** What clients cannot do at a door of MQTT, and why. */
const CANNOT = {
  positions: 'a session has the positions, not its client',
  requests: 'packets have a fixed form',
  senders: 'a record does not say who sent it',
  refresh: 'a new token takes a new connection',
  history: 'there is no packet for it',
  members: 'presence is not for clients of MQTT',
  sendsOnlyToOpen: 'PUBLISH needs no subscription',
  backlogs: 'clients fall behind when they do not acknowledge'
}
const CANNOT_4 = {
  ...CANNOT,
  headers: '3.1.1 has no user properties',
  refusals: '3.1.1 has no reason codes'
}

let clients = 0

/** @param {4 | 5} version @returns {import('./door-client.js').Door} */
export const mqttDoor = (version) => ({
  name: `MQTT ${version === 5 ? '5' : '3.1.1'}`,
  cannot: version === 5 ? CANNOT : CANNOT_4,
  async connect (t, { mqttUrl }, { token, client = `device-${++clients}` }) {
    const socket = mqtt.connect(mqttUrl, {
      protocolVersion: version, reconnectPeriod: 0, clientId: client, clean: false, username: 'device',
      ...(token !== undefined && { password: token }),
      ...(version === 5 && { properties: { sessionExpiryInterval: EXPIRY } })
    })
    t.after(() => socket.end(true))
    return new MqttDoorClient(socket, version, { token, client }).connected()
  },
  shown: (bytes) => bytes.toString('base64'),
  told: (code) => (version === 5 ? REASONS : RETURN_CODES)[code] ?? /^$/
})
