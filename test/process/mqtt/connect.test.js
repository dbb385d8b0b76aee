import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { after, describe, test } from 'node:test'
import mqtt from 'mqtt'
import { startEmbedded } from '../../helpers/embedded.js'
import { mqttClient, mqttSocket } from '../../helpers/mqtt-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const inkcast = await startEmbedded({ after }, {
  LISTENERS: 'mqtt://127.0.0.1:0,mqtt+ws:/mqtt', AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '3'
})
const port = inkcast.gateway.port('mqtt://127.0.0.1:0')
const token = (/** @type {string} */ sub, more = {}) => signToken({ sub, ...more })
const login = async (/** @type {string} */ sub) => ({ username: 'x', password: await token(sub) })
const CONNECT = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId: 'one', keepalive: 0 }

describe('CONNECT', () => {
  test('[MQTT-3.1.0-1] [MQTT5-3.1.0-1] a first packet that is no CONNECT ends the connection', async (t) => {
    const client = await mqttSocket(t, port)
    client.send({ cmd: 'pingreq' })
    await client.closed()
    assert.deepEqual(client.received, [])
  })

  test('[MQTT-3.1.0-2] [MQTT5-3.1.0-2] [MQTT5-4.13.2-1] a second CONNECT ends the connection', async (t) => {
    for (const protocolVersion of [4, 5]) {
      const client = await mqttClient(t, port, { protocolVersion, ...await login('twice') })
      client.send({ ...CONNECT, protocolVersion })
      await client.closed()
      assert.deepEqual(client.received.map(({ reasonCode }) => reasonCode), protocolVersion === 5 ? [0x82] : [])
    }
  })

  test('a second CONNECT ends no other connection', async (t) => {
    const [client, other] = await Promise.all(['twice', 'other'].map(async (uid) =>
      mqttClient(t, port, { protocolVersion: 5, ...await login(uid) })))
    client.send({ ...CONNECT, protocolVersion: 5 })
    await client.closed()
    const topic = `doc/${randomUUID()}`
    assert.equal((await other.publish(topic, 1)).reasonCode, 0)
    assert.equal(await other.subscribe(topic, 1), 1)
  })

  test('[MQTT-3.1.2-2] [MQTT5-3.1.2-2] another version is refused with return code 1', async (t) => {
    const client = await mqttSocket(t, port)
    client.send({ ...CONNECT, protocolId: 'MQIsdp', protocolVersion: 3 })
    assert.equal((await client.next('connack')).returnCode, 1)
    await client.closed()
    const later = await mqttSocket(t, port)
    later.socket.write(Buffer.from([0x10, 12, 0, 4, ...Buffer.from('MQTT'), 6, 2, 0, 0, 0, 0]))
    assert.equal((await later.next('connack')).returnCode, 1)
  })

  test('[MQTT5-3.1.4-2] a token is the password, and a refusal has the code of its version; [MQTT-3.1.3-9] [MQTT5-3.1.3-8] so has a ' +
    'wrong client id', async (t) => {
    for (const [protocolVersion, field, unauthorized, refused] of [[4, 'returnCode', 4, 2], [5, 'reasonCode', 0x86, 0x85]]) {
      const accepted = await mqttClient(t, port, { protocolVersion, clientId: 'sensor', ...await login('ada') })
      assert.equal(accepted.connack[field], 0)
      assert.deepEqual([...inkcast.gateway.directory.user('ada')].map(({ client }) => client), ['sensor'])
      accepted.socket.destroy()
      await waitFor(() => !inkcast.gateway.directory.hasUser('ada'))
      const wrong = await mqttClient(t, port, { protocolVersion, username: 'x', password: 'no token' })
      assert.equal(wrong.connack[field], unauthorized)
      await wrong.closed()
      const long = await mqttClient(t, port, { protocolVersion, clientId: 'x'.repeat(300), ...await login('ada') })
      assert.equal(long.connack[field], refused)
    }
  })

  test('[MQTT-3.1.3-8] an empty client id needs a clean session in 3.1.1; [MQTT-3.1.3-6] [MQTT5-3.1.3-6] [MQTT5-3.1.3-7] ' +
    '[MQTT5-3.2.2-16] else the gateway chooses one', async (t) => {
    const refused = await mqttSocket(t, port)
    // mqtt-packet does not write this packet
    refused.socket.write(Buffer.from([0x10, 12, 0, 4, ...Buffer.from('MQTT'), 4, 0, 0, 0, 0, 0]))
    assert.equal((await refused.next('connack')).returnCode, 2)
    const { connack } = await mqttClient(t, port, { protocolVersion: 5, ...await login('chosen') })
    const [{ client }] = inkcast.gateway.directory.user('chosen')
    assert.equal(connack.properties.assignedClientIdentifier, client)
  })

  test('[MQTT5-3.2.2-9] [MQTT5-3.2.2-22] [MQTT5-3.1.2-28] [MQTT5-4.12.0-6] CONNACK of version 5 says what the gateway does not have, ' +
    'and nothing more', async (t) => {
    const { connack } = await mqttClient(t, port, { protocolVersion: 5, clientId: 'told', keepalive: 10_000, ...await login('told') })
    const { maximumPacketSize, receiveMaximum, ...properties } = connack.properties
    assert.ok(maximumPacketSize > 1_000_000 && receiveMaximum === 1000)
    assert.deepEqual({ ...properties }, {
      sessionExpiryInterval: 0, maximumQoS: 1, topicAliasMaximum: 16, wildcardSubscriptionAvailable: false,
      subscriptionIdentifiersAvailable: false, sharedSubscriptionAvailable: false, serverKeepAlive: 600
    })
  })

  test('[MQTT5-3.2.2-12] [MQTT5-4.12.0-1] a will of quality 2, an authentication method and properties that are wrong are refused' +
    '[MQTT5-3.2.2-12] [MQTT5-4.12.0-1] a will of quality 2, an authentication method and properties that are ' +
    'wrong are refused', async (t) => {
    const will = (/** @type {any} */ more) => ({ topic: 'doc/a', payload: '1', qos: 1, retain: false, ...more })
    for (const [connect, code] of /** @type {[any, number][]} */ ([
      [{ will: will({ qos: 2 }) }, 0x9b], [{ will: will({ topic: 'elsewhere' }) }, 0x90],
      [{ will: will({ topic: 'doc/a/signal/b' }) }, 0x90], [{ will: will({ payload: '{' }) }, 0x99],
      [{ properties: { authenticationMethod: 'x' } }, 0x8c]
    ])) {
      const { connack } = await mqttClient(t, port, { protocolVersion: 5, clientId: 'w', ...connect, ...await login('wills') })
      assert.equal(connack.reasonCode, code)
    }
    const zero = await mqttSocket(t, port, 5)
    zero.send({ ...CONNECT, protocolVersion: 5, properties: { receiveMaximum: 0 } })
    await zero.closed()
  })

  test('limits of connections hold: those of a user are refused with a code, unless one replaces its own', async (t) => {
    const one = { ...await login('many'), clientId: 'one' }
    let device = await mqttClient(t, port, one)
    for (let i = 0; i < 2; i++) assert.equal((await mqttClient(t, port, await login('many'))).connack.returnCode, 0)
    for (let i = 0; i < 2; i++) {
      const before = device
      device = await mqttClient(t, port, one)
      assert.equal(device.connack.returnCode, 0)
      await before.closed()
      await waitFor(() => [...inkcast.gateway.directory.user('many')].length === 3)
    }
    assert.equal((await mqttClient(t, port, await login('many'))).connack.returnCode, 3)
    assert.equal((await mqttClient(t, port, { protocolVersion: 5, ...await login('many') })).connack.reasonCode, 0x97)
  })
})

describe('a connection', () => {
  test('[MQTT-3.12.4-1] [MQTT5-3.12.4-1] each PINGREQ is answered', async (t) => {
    const client = await mqttClient(t, port, await login('pings'))
    for (let i = 0; i < 3; i++) client.send({ cmd: 'pingreq' })
    await waitFor(() => client.received.length === 3)
    assert.ok(client.received.every(({ cmd }) => cmd === 'pingresp'))
  })

  test('TCP probes a client that has no keep-alive, also behind a WebSocket, and no other one', async (t) => {
    const { mock } = t.mock.method(net.Socket.prototype, 'setKeepAlive')
    const ofServer = (/** @type {any} */ { this: socket }) => ports.has(socket.localPort)
    const probed = () => mock.calls.filter(ofServer).map((call) => call.arguments)
    const ports = new Set([port, Number(new URL(inkcast.url).port)])
    await mqttClient(t, port, { keepalive: 60, ...await login('pings') })
    assert.deepEqual(probed(), [])
    await mqttClient(t, port, { keepalive: 0, ...await login('silent') })
    assert.deepEqual(probed(), [[true, 300_000]])
    const browser = mqtt.connect(`${inkcast.url.replace('http', 'ws')}/mqtt`, { keepalive: 0, ...await login('browser') })
    t.after(() => browser.endAsync(true))
    await waitFor(() => browser.connected)
    assert.deepEqual(probed(), [[true, 300_000], [true, 300_000]])
  })

  test('[MQTT-3.1.2-24] [MQTT5-3.1.2-22] a client that is silent for 1.5 times its keep-alive is gone, and one that ' +
    'pings is not', async (t) => {
    const silent = await mqttClient(t, port, { keepalive: 1, ...await login('silent') })
    const other = await mqttClient(t, port, { keepalive: 2, ...await login('other') })
    const pings = setInterval(() => other.send({ cmd: 'pingreq' }), 200)
    t.after(() => clearInterval(pings))
    await silent.closed()
    await waitFor(() => other.received.length > 20)
    assert.equal(other.ended, false)
  })

  test('DISCONNECT ends the connection', async (t) => {
    const client = await mqttClient(t, port, await login('leaves'))
    client.send({ cmd: 'disconnect' })
    await client.closed()
    await waitFor(() => !inkcast.gateway.directory.hasUser('leaves'))
  })

  test('[MQTT-4.8.0-1] [MQTT5-4.13.1-1] [MQTT5-3.14.2-1] wrong flags, lengths and types end the connection, in version 5 with a ' +
    'reason', async (t) => {
    for (const [bytes, reason] of /** @type {[number[], number][]} */ ([
      [[0x81, 0], 0x81], [[0xc0, 0xff, 0xff, 0xff, 0xff], 0x81], [[0xf0, 0xff, 0xff, 0xff, 0x7f], 0x95],
      [[0x00, 0], 0x81],
      [[0x20, 2, 0, 0], 0x82], [[0x62, 2, 0, 1], 0x82], [[0xf0, 0], 0x81], [[0x82, 5, 0, 0, 0, 0, 0], 0x81]
    ])) {
      const client = await mqttClient(t, port, { protocolVersion: 5, ...await login('wrong') })
      client.socket.write(Buffer.from(bytes))
      assert.equal((await client.next('disconnect')).reasonCode, reason, Buffer.from(bytes).toString('hex'))
      await client.closed()
    }
  })

  test('[MQTT-3.1.4-2] [MQTT5-3.1.4-3] a connection with the same client id replaces the one before, which gets 0x8E', async (t) => {
    const first = await mqttClient(t, port, { protocolVersion: 5, clientId: 'same', ...await login('replaced') })
    const second = await mqttClient(t, port, { protocolVersion: 5, clientId: 'same', ...await login('replaced') })
    assert.equal((await first.next('disconnect')).reasonCode, 0x8e)
    await first.closed()
    second.send({ cmd: 'pingreq' })
    await second.next('pingresp')
  })

  test('a kick has its reason', async (t) => {
    const client = await mqttClient(t, port, { protocolVersion: 5, ...await login('kicked') })
    await fetch(`${inkcast.apiUrl}/v1/users/kicked/connections`, { method: 'DELETE' })
    const { reasonCode, properties } = await client.next('disconnect')
    assert.equal(reasonCode, 0x98)
    assert.match(properties.reasonString, /disconnected by the service/)
    await client.closed()
  })
})
