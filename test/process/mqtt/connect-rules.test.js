import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import mqttPacket from 'mqtt-packet'
import { startEmbedded } from '../../helpers/embedded.js'
import { Flag, connectBytes, packet, text } from '../../helpers/mqtt-bytes.js'
import { mqttClient, mqttSocket } from '../../helpers/mqtt-client.js'
import { SECRET } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const LISTENER = 'mqtt://127.0.0.1:0'
const inkcast = await startEmbedded({ after }, { LISTENERS: LISTENER, AUTH_ALLOW_ANONYMOUS: 'true', AUTH_JWT_SECRET: SECRET })
const port = inkcast.gateway.port(LISTENER)
const VERSIONS = /** @type {const} */ ([4, 5])
const { CLEAN, WILL, QOS_1, QOS_3, RETAIN, USERNAME, PASSWORD, RESERVED } = Flag

/**
 * The connection ends, and nothing was sent before its end.
 * @param {import('node:test').TestContext} t
 * @param {Buffer} bytes
 * @param {string} [name] of the case
 */
async function endsSilently (t, bytes, name = bytes.toString('hex')) {
  const client = await mqttSocket(t, port)
  client.socket.write(bytes)
  await client.closed()
  assert.deepEqual(client.received, [], name)
}

describe('a CONNECT', () => {
  test('[MQTT-3.1.2-3] [MQTT-3.1.2-11] [MQTT-3.1.2-13] [MQTT-3.1.2-14] [MQTT-3.1.2-15] [MQTT-3.1.2-22] [MQTT5-3.1.2-3] ' +
    '[MQTT5-3.1.2-11] [MQTT5-3.1.2-12] [MQTT5-3.1.2-13] with wrong flags ends the connection', async (t) => {
    const will = [text('raw'), text('doc/a'), text('1')]
    for (const version of VERSIONS) {
      const properties = version === 5 ? [[0]] : []
      const [id, ...rest] = will
      const withWill = [id, ...properties, ...rest]
      for (const [flags, payload] of /** @type {[number, number[][]][]} */ ([
        [CLEAN | RESERVED, [id]], [CLEAN | QOS_1, [id]], [CLEAN | RETAIN, [id]], [CLEAN | WILL | QOS_3, withWill],
        ...version === 4 ? [[CLEAN | PASSWORD, [id, text('secret')]]] : []
      ])) await endsSilently(t, connectBytes({ version, flags, payload }))
    }
  })

  test('[MQTT-3.1.2-9] [MQTT-3.1.2-19] [MQTT-3.1.2-21] [MQTT-3.1.3-1] [MQTT-3.1.3-3] [MQTT-3.1.4-1] [MQTT5-3.1.2-9] [MQTT5-3.1.2-17] ' +
    '[MQTT-3.2.2-6] [MQTT5-3.1.2-19] [MQTT5-3.1.3-1] [MQTT5-3.1.3-3] [MQTT5-3.1.4-1] that lacks a field ends the connection', async (t) => {
    for (const version of VERSIONS) {
      for (const [flags, payload] of /** @type {[number, number[][]][]} */ ([
        [CLEAN, []], [CLEAN | WILL, [text('raw')]], [CLEAN | WILL, [text('raw'), ...version === 5 ? [[0]] : [], text('doc/a')]],
        [CLEAN | USERNAME, [text('raw')]], [CLEAN | USERNAME | PASSWORD, [text('raw'), text('user')]]
      ])) await endsSilently(t, connectBytes({ version, flags, payload }))
    }
  })

  test('[MQTT-3.1.2-18] [MQTT-3.1.2-20] [MQTT5-3.1.2-16] [MQTT5-3.1.2-18] with a field more ends the connection', async (t) => {
    for (const version of VERSIONS)
      await endsSilently(t, connectBytes({ version, payload: [text('raw'), text('user'), text('password')] }))
  })

  test('[MQTT-1.5.3-1] [MQTT-1.5.3-2] [MQTT-3.1.3-4] [MQTT-3.1.3-10] [MQTT-3.1.3-11] [MQTT5-1.5.4-1] [MQTT5-1.5.4-2] [MQTT5-1.5.7-1] ' +
    '[MQTT5-3.1.3-4] [MQTT5-3.1.3-11] [MQTT5-3.1.3-12] with a text that is not UTF-8 ends the connection', async (t) => {
    const [cut, surrogate, zero] = [[0xc3], [0xed, 0xa0, 0x80], [0x61, 0, 0x62]]
    for (const version of VERSIONS) {
      const willProperties = version === 5 ? [[0]] : []
      for (const wrong of [cut, surrogate, zero]) {
        await endsSilently(t, connectBytes({ version, payload: [text(wrong)] }))
        await endsSilently(t, connectBytes({
          version, flags: CLEAN | WILL, payload: [text('raw'), ...willProperties, text([...Buffer.from('doc/'), ...wrong]), text('1')]
        }))
        await endsSilently(t, connectBytes({ version, flags: CLEAN | USERNAME, payload: [text('raw'), text(wrong)] }))
      }
    }
    for (const wrong of [cut, zero]) {
      const pairs = [[0x26, ...text(wrong), ...text('value')], [0x26, ...text('name'), ...text(wrong)], [0x26, ...text('name')]]
      for (const properties of pairs) await endsSilently(t, connectBytes({ version: 5, properties }))
      const contentType = [0x03, ...text(wrong)]
      await endsSilently(t, connectBytes({
        version: 5, flags: CLEAN | WILL, payload: [text('raw'), [contentType.length, ...contentType], text('doc/a'), text('1')]
      }))
    }
  })

  test('[MQTT-3.1.2-1] [MQTT5-3.1.2-1] of another protocol ends the connection', async (t) => {
    for (const version of VERSIONS) for (const name of ['MQTS', 'HTTP', '']) await endsSilently(t, connectBytes({ version, name }))
  })

  test('[MQTT-3.1.3-5] [MQTT5-3.1.3-5] may have an id of 1 to 23 letters and digits', async (t) => {
    for (const protocolVersion of VERSIONS) {
      for (const clientId of ['0', 'Z', '0123456789abcdefghijklm', 'nopqrstuvwxyzABCDEFGHIJ', 'KLMNOPQRSTUVWXYZ']) {
        const { connack, socket } = await mqttClient(t, port, { protocolVersion, clientId })
        assert.equal(connack.returnCode ?? connack.reasonCode, 0)
        socket.destroy()
      }
    }
  })

  test('[MQTT-3.1.4-5] [MQTT-3.2.2-4] [MQTT-3.2.2-5] [MQTT5-3.1.4-6] [MQTT5-3.2.2-6] [MQTT5-3.2.2-7] [MQTT5-3.2.2-8] [MQTT5-3.14.0-1] ' +
    'that is refused gets CONNACK alone, and what follows it is not handled', async (t) => {
    const guid = randomUUID()
    const watcher = await mqttClient(t, port)
    await watcher.subscribe(`doc/${guid}`)
    for (const protocolVersion of VERSIONS) {
      const client = await mqttSocket(t, port, protocolVersion)
      const bytes = (/** @type {any} */ one) => mqttPacket.generate(one, { protocolVersion })
      client.socket.write(Buffer.concat([
        bytes({
          cmd: 'connect', protocolId: 'MQTT', protocolVersion, clean: true, clientId: 'no', keepalive: 0, username: 'a', password: 'b'
        }),
        bytes({ cmd: 'publish', topic: `doc/${guid}`, payload: '"refused"', qos: 0 }), bytes({ cmd: 'pingreq' })
      ]))
      await client.closed()
      const [{ cmd, sessionPresent, returnCode, reasonCode }] = client.received
      assert.deepEqual([cmd, sessionPresent, returnCode ?? reasonCode, client.received.length],
        ['connack', false, protocolVersion === 5 ? 0x86 : 4, 1])
    }
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 'last')
    assert.equal((await watcher.record()).value, 'last')
  })

  test('[MQTT-3.1.4-3] [MQTT-3.1.4-4] [MQTT-3.2.0-1] [MQTT5-3.1.4-4] [MQTT5-3.1.4-5] [MQTT5-3.2.0-1] [MQTT5-3.2.0-2] [MQTT5-3.2.2-1] ' +
    'is answered by one CONNACK, before everything that was sent together with it', async (t) => {
    for (const protocolVersion of VERSIONS) {
      const guid = randomUUID()
      const client = await mqttSocket(t, port, protocolVersion)
      const bytes = (/** @type {any} */ one) => mqttPacket.generate(one, { protocolVersion })
      client.socket.write(Buffer.concat([
        bytes({ cmd: 'connect', protocolId: 'MQTT', protocolVersion, clean: true, clientId: '', keepalive: 0 }),
        bytes({ cmd: 'pingreq' }), bytes({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `doc/${guid}`, qos: 1 }] }),
        bytes({ cmd: 'publish', messageId: 2, topic: `doc/${guid}`, payload: '1', qos: 1 })
      ]))
      await waitFor(() => client.received.length >= 4)
      const [first, ...rest] = client.received.map(({ cmd }) => cmd)
      assert.equal(first, 'connack')
      assert.ok(['pingresp', 'suback', 'puback'].every((cmd) => rest.includes(cmd)) && !rest.includes('connack'), String(rest))
    }
  })

  test('[MQTT5-3.1.2-24] [MQTT5-3.2.2-19] [MQTT5-3.2.2-20] [MQTT5-3.14.2-3] [MQTT5-3.14.2-4] [MQTT5-3.4.2-2] ' +
    '[MQTT5-3.4.2-3] [MQTT5-3.9.2-1] [MQTT5-3.9.2-2] [MQTT5-3.11.2-1] [MQTT5-3.11.2-2] of a client that takes small ' +
    'packets gets no larger one', async (t) => {
    const five = (/** @type {number} */ maximumPacketSize, more = {}) =>
      mqttSocket(t, port, 5).then((client) => {
        client.send({
          cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clean: true, clientId: 'small', keepalive: 0,
          properties: { maximumPacketSize }, ...more
        })
        return client
      })
    const wrong = { username: 'a', password: 'no token' }
    const refused = await five(45, wrong)
    const { reasonCode, properties } = await refused.next('connack')
    assert.deepEqual([reasonCode, properties], [0x86, undefined])
    const silent = await five(4, wrong)
    await silent.closed()
    assert.deepEqual(silent.received, [])
    // CONNACK itself has its properties
    assert.equal((await (await five(20)).next('connack')).reasonCode, 0x95)

    const client = await five(60)
    assert.equal((await client.next('connack')).reasonCode, 0)
    client.send({ cmd: 'publish', topic: '', payload: '1', qos: 0 })
    const end = await client.next('disconnect')
    assert.deepEqual([end.reasonCode, end.properties?.reasonString], [0x82, 'neither a topic nor an alias'])
    const less = await five(45)
    await less.next('connack')
    const topic = `doc/${randomUUID()}`
    less.send({ cmd: 'publish', messageId: 1, topic, payload: '{', qos: 1 })
    const { reasonCode: refusal, properties: words } = await less.next('puback')
    assert.deepEqual([refusal, words], [0x99, undefined])
    less.send({ cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'doc/+', qos: 0 }] })
    less.send({ cmd: 'unsubscribe', messageId: 3, unsubscriptions: [topic] })
    assert.deepEqual([(await less.next('suback')).properties, (await less.next('unsuback')).properties], [undefined, undefined])
    less.socket.write(packet(0x82, [0, 0]))
    assert.equal((await less.next('disconnect')).reasonCode, 0x81)
  })

  test('[MQTT5-3.1.2-6] [MQTT5-3.1.3-6] of version 5 without an id needs no clean start, and each gets another id', async (t) => {
    const ids = new Set()
    for (let i = 0; i < 3; i++) {
      const client = await mqttSocket(t, port, 5)
      client.socket.write(connectBytes({ version: 5, flags: 0, payload: [text('')] }))
      const { reasonCode, sessionPresent, properties } = await client.next('connack')
      assert.deepEqual([reasonCode, sessionPresent], [0, false])
      ids.add(properties.assignedClientIdentifier)
    }
    assert.equal(ids.size, 3)
  })
})
