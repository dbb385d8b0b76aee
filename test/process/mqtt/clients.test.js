import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import mqtt from 'mqtt'
import mqttPacket from 'mqtt-packet'
import WebSocket from 'ws'
import { startEmbedded } from '../../helpers/embedded.js'
import { mqttClient, mqttSocket } from '../../helpers/mqtt-client.js'
import { waitFor } from '../../helpers/wait.js'

const TCP = 'mqtt://127.0.0.1:0'
const inkcast = await startEmbedded({ after }, { LISTENERS: `${TCP},mqtt+ws:/mqtt` })
const port = inkcast.gateway.port(TCP)
const HAS_MOSQUITTO = spawnSync('mosquitto_pub', ['--help']).error === undefined

/** @param {import('node:test').TestContext} t @param {import('mqtt').IClientOptions} options */
async function mqttJs (t, options) {
  const url = options.path === undefined ? `mqtt://127.0.0.1:${port}` : inkcast.url.replace('http', 'ws') + options.path
  const client = mqtt.connect(url, { reconnectPeriod: 50, ...options })
  t.after(() => client.end(true))
  await once(/** @type {any} */ (client), 'connect')
  return client
}

describe('clients of others', () => {
  test('MQTT.js sends, gets records and comes back, with both versions, over TCP and WebSocket', async (t) => {
    const kinds = [4, 5].flatMap((protocolVersion) => [{ protocolVersion }, { protocolVersion, path: '/mqtt' }])
    for (const options of kinds) {
      const guid = randomUUID()
      const client = await mqttJs(t, /** @type {any} */ (options))
      /** @type {any[]} */
      const received = []
      client.on('message', (topic, payload) => received.push(JSON.parse(payload.toString())))
      const [granted] = await client.subscribeAsync(`doc/${guid}`, { qos: 1 })
      assert.equal(granted.qos, 1)
      await client.publishAsync(`doc/${guid}`, '1', { qos: 1 })
      await inkcast.post(`/v1/documents/${guid}/broadcast`, 2)
      await waitFor(() => received.length === 2, { message: () => received })
      const again = once(/** @type {any} */ (client), 'connect')
      client.reconnect()
      await again
      await inkcast.post(`/v1/documents/${guid}/broadcast`, 3)
      await waitFor(() => received.includes(3), { message: () => received })
    }
  })

  test('mosquitto_sub gets what mosquitto_pub sends', { skip: !HAS_MOSQUITTO && 'mosquitto-clients is not installed' }, async (t) => {
    for (const version of ['mqttv311', 'mqttv5']) {
      const guid = randomUUID()
      const at = ['-h', '127.0.0.1', '-p', String(port), '-V', version, '-t', `doc/${guid}`, '-q', '1']
      const sub = spawn('mosquitto_sub', [...at, '-C', '2'])
      t.after(() => sub.kill())
      let text = ''
      sub.stdout.on('data', (data) => { text += data })
      const ended = once(sub, 'close')
      await waitFor(() => [...inkcast.gateway.directory.all()].some((connection) => connection.document(guid)?.joined))
      for (const message of ['{"n":1}', '{"n":2}']) await promisify(execFile)('mosquitto_pub', [...at, '-m', message])
      assert.deepEqual(await ended, [0, null], text)
      assert.match(text, /\{"n":1\}[^]*\{"n":2\}/)
    }
  })

  test('[MQTT-6.0.0-1] [MQTT-6.0.0-3] [MQTT-6.0.0-4] [MQTT5-6.0.0-1] [MQTT5-6.0.0-3] [MQTT5-6.0.0-4] pages of other origins, ' +
    'requests without the subprotocol and text frames are refused', async (t) => {
    const { port: shared } = new URL(inkcast.url)
    const request = (/** @type {string} */ more) =>
      `GET /mqtt HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${more}\r\n`
    for (const [bytes, answer] of /** @type {[string, RegExp][]} */ ([
      [request(''), /^HTTP\/1.1 400/],
      [request('Sec-WebSocket-Protocol: mqtt\r\nOrigin: https://elsewhere.example\r\n'), /^HTTP\/1.1 403/],
      [request('Sec-WebSocket-Protocol: mqtt\r\n') + '\x81\x80\x00\x00\x00\x00', /101[^]*Sec-WebSocket-Protocol: mqtt[^]*binary frames/]
    ])) {
      const socket = net.connect(Number(shared), '127.0.0.1')
      t.after(() => socket.destroy())
      let text = ''
      socket.on('data', (data) => { text += data.toString('latin1') })
      socket.write(Buffer.from(bytes, 'latin1'))
      await waitFor(() => answer.test(text), { message: () => text })
    }
  })
})

test('[MQTT-6.0.0-2] [MQTT5-6.0.0-2] packets need not begin where WebSocket frames do', async (t) => {
  const ws = new WebSocket(`${inkcast.url.replace('http', 'ws')}/mqtt`, ['mqtt'])
  t.after(() => ws.terminate())
  await once(ws, 'open')
  const parser = mqttPacket.parser({ protocolVersion: 4 })
  /** @type {string[]} */
  const received = []
  parser.on('packet', ({ cmd }) => received.push(cmd))
  ws.on('message', (data) => parser.parse(/** @type {Buffer} */ (data)))
  const packets = [
    { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId: 'frames', keepalive: 0 },
    { cmd: 'pingreq' }, { cmd: 'pingreq' }
  ]
  const bytes = Buffer.concat(packets.map((packet) => mqttPacket.generate(/** @type {any} */ (packet))))
  const cuts = [0, 1, 9, bytes.length - 1, bytes.length]
  for (const [i, cut] of cuts.entries()) if (i > 0) ws.send(bytes.subarray(cuts[i - 1], cut))
  await waitFor(() => received.length === 3)
  assert.deepEqual(received, ['connack', 'pingresp', 'pingresp'])
})

describe('bounds', () => {
  test('clients that send nothing, or half a packet, hold no more than the limits, and others get in', async (t) => {
    const many = await Promise.all(Array.from({ length: 150 }, () => mqttSocket(t, port)))
    for (const [i, client] of many.entries())
      if (i % 3 > 0) client.socket.write(Buffer.from(i % 3 === 1 ? [0x10] : [0x10, 0xf0, 0xff, 0x03, 0, 4, 77]))
    await waitFor(async () => (await inkcast.metrics.sessions_not_admitted.get()).values[0].value === 150)
    const { values } = await inkcast.metrics.unfinished_bytes.get()
    assert.ok(values.every(({ value }) => value < 150 * 128), JSON.stringify(values))
    const client = await mqttClient(t, port)
    assert.equal(client.connack.returnCode, 0)
    for (const { socket } of many) socket.destroy()
    await waitFor(async () => (await inkcast.metrics.sessions_not_admitted.get()).values[0].value === 0)
  })

  test('random bytes, before and after CONNECT, end a connection at most', async (t) => {
    let seed = 7
    const next = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31
    const noise = () => Buffer.from(Array.from({ length: 1 + Math.floor(next() * 60) }, () => Math.floor(next() * 256)))
    for (let i = 0; i < 60; i++) {
      const protocolVersion = i % 4 ? 5 : 4
      const client = i % 2 ? await mqttSocket(t, port, 5) : await mqttClient(t, port, { protocolVersion })
      // each type of packet, with a length that is right
      const body = noise()
      client.socket.write(Buffer.concat([Buffer.from([((i * 5) % 16) * 16 + (i % 3), body.length]), body, noise()]))
      client.socket.end()
      await client.closed()
    }
    await waitFor(() => inkcast.gateway.connections === 0)
  })

  test('a client that floods is closed', async (t) => {
    const client = await mqttClient(t, port)
    const pings = Buffer.alloc(4000, Buffer.from([0xc0, 0]))
    const flood = setInterval(() => client.socket.write(pings), 1)
    t.after(() => clearInterval(flood))
    await client.closed()
  })
})

test('[MQTT5-3.14.2-2] [MQTT5-3.14.4-1] [MQTT5-3.14.4-2] a gateway that stops says so in version 5, and closes clients ' +
  'of 3.1.1; no will is sent' +
  '[MQTT5-3.14.4-1] [MQTT5-3.14.4-2] a gateway that stops says so in version 5, and closes clients of 3.1.1; ' +
  'no will is sent', async (t) => {
  const own = await startEmbedded(t, { LISTENERS: TCP })
  const at = own.gateway.port(TCP)
  const will = { topic: 'doc/a', payload: '1', qos: 0, retain: false }
  const five = await mqttClient(t, at, { protocolVersion: 5, will })
  const four = await mqttClient(t, at, { will })
  await five.subscribe('gateway')
  await own.stop()
  assert.equal((await five.record()).value.event, 'gateway:draining')
  const { reasonCode, properties } = await five.next('disconnect')
  assert.deepEqual([reasonCode, properties.sessionExpiryInterval], [0x8b, undefined])
  await five.closed()
  assert.deepEqual(five.received, [])
  await four.closed()
  assert.equal(own.gateway.connections, 0)
})
