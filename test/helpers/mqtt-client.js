import { once } from 'node:events'
import net from 'node:net'
import mqttPacket from 'mqtt-packet'
import { waitFor } from './wait.js'

/**
 * A client that sends MQTT packets of any form, right or wrong.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context
 * @param {number} port
 * @param {4 | 5} [version]
 */
export async function mqttSocket (t, port, version = 4) {
  const socket = net.connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.on('error', () => {})
  /** @type {any[]} packets received, and not looked at */
  const received = []
  const parser = mqttPacket.parser({ protocolVersion: version }).on('packet', (packet) => { received.push(packet) })
  socket.on('data', (chunk) => parser.parse(chunk))
  let ended = false
  socket.on('close', () => { ended = true })
  /** @param {any} packet */
  const send = (packet) => socket.write(mqttPacket.generate(packet, { protocolVersion: version }))
  return {
    socket, received, send,
    get ended () { return ended },
    /** @param {string} cmd @returns {Promise<any>} the first packet of this type not looked at, now or later */
    async next (cmd) {
      await waitFor(() => received.some((packet) => packet.cmd === cmd), {
        message: () => `${cmd} among ${JSON.stringify(received).slice(0, 1000)}, ${ended ? 'ended' : 'open'}`
      })
      const [packet] = received.splice(received.findIndex((one) => one.cmd === cmd), 1)
      return packet
    },
    closed: () => waitFor(() => ended, { message: () => `the connection is open: ${JSON.stringify(received)}` })
  }
}

/**
 * The same, connected.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {number} port
 * @param {Record<string, any>} [connect] fields of CONNECT
 */
export async function mqttClient (t, port, connect = {}) {
  const { protocolVersion = 4 } = connect
  const client = await mqttSocket(t, port, protocolVersion)
  client.send({ cmd: 'connect', protocolId: 'MQTT', protocolVersion, clean: true, clientId: '', keepalive: 0, ...connect })
  const connack = await client.next('connack')
  let last = 0
  return Object.assign(client, {
    connack,
    /**
     * @param {string} topic
     * @param {number} [qos]
     * @param {object} [more]
     * @returns {Promise<number>} granted
     */
    async subscribe (topic, qos = 0, more = {}) {
      const { properties, ...options } = /** @type {any} */ (more)
      const messageId = ++last
      client.send({ cmd: 'subscribe', messageId, subscriptions: [{ topic, qos, ...options }], properties })
      const suback = await client.next('suback')
      if (suback.messageId !== messageId) throw new Error('SUBACK of another packet')
      return suback.granted[0]
    },
    /**
     * @param {string} topic
     * @param {unknown} value
     * @param {object} [more]
     * @returns {Promise<any>} PUBACK
     */
    async publish (topic, value, more = {}) {
      const messageId = ++last
      client.send({ cmd: 'publish', messageId, topic, payload: Buffer.from(JSON.stringify(value)), qos: 1, ...more })
      const puback = await client.next('puback')
      if (puback.messageId !== messageId) throw new Error('PUBACK of another packet')
      return puback
    },
    /** The next record, acknowledged. @returns {Promise<{ packet: any, value: any }>} */
    async record () {
      const packet = await client.next('publish')
      if (packet.qos > 0) client.send({ cmd: 'puback', messageId: packet.messageId, reasonCode: 0 })
      return { packet, value: JSON.parse(packet.payload.toString()) }
    }
  })
}
