import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import mqtt from 'mqtt'
import { makeAuthority } from '../../helpers/certificates.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { httpService } from '../../helpers/http-service.js'
import { mqttClient } from '../../helpers/mqtt-client.js'
import { lacksPahoMqtt, runPaho } from '../../helpers/python-mqtt.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET as WEBHOOK_SECRET } from '../../helpers/webhook-service.js'

const authority = makeAuthority({ after })
const { cert, key } = authority.issue('gateway')
const [TCP, TLS] = ['mqtt://127.0.0.1:0', 'mqtts://127.0.0.1:0']
const inkcast = await startEmbedded({ after }, {
  LISTENERS: [TCP, TLS, 'mqtt+ws:/mqtt'].join(), TLS_FILES: `cert:${cert},key:${key}`, AUTH_JWT_SECRET: SECRET
})
const { port: shared } = new URL(inkcast.url)
const HAS_MOSQUITTO = spawnSync('mosquitto_pub', ['--help']).error === undefined
const NO_PAHO = await lacksPahoMqtt()
const isOpen = (/** @type {string} */ guid) =>
  [...inkcast.gateway.directory.all()].some((connection) => connection.document(guid)?.joined)

describe('clients over TLS', () => {
  test('MQTT.js over mqtts and over a WebSocket with TLS, with both versions, and with the wrong authority not', async (t) => {
    const ca = readFileSync(authority.ca)
    for (const protocolVersion of /** @type {const} */ ([4, 5])) {
      for (const url of [`mqtts://127.0.0.1:${inkcast.gateway.port(TLS)}`, `wss://127.0.0.1:${shared}/mqtt`]) {
        const guid = randomUUID()
        const client = mqtt.connect(url, {
          protocolVersion, ca, clientId: randomUUID(), username: 'x', password: await signToken({ sub: 'secure' }), reconnectPeriod: 0
        })
        t.after(() => client.end(true))
        await once(/** @type {any} */ (client), 'connect')
        const message = once(/** @type {any} */ (client), 'message')
        await client.subscribeAsync(`doc/${guid}`, { qos: 1 })
        await client.publishAsync(`doc/${guid}`, '{"n":1}', { qos: 1 })
        assert.deepEqual(String((await message)[1]), '{"n":1}')
      }
    }
    const stranger = mqtt.connect(`mqtts://127.0.0.1:${inkcast.gateway.port(TLS)}`, { reconnectPeriod: 0 })
    const [error] = await once(/** @type {any} */ (stranger), 'error')
    assert.match(String(error), /certificate/)
  })

  test('mosquitto_sub and mosquitto_pub over mqtts', { skip: !HAS_MOSQUITTO && 'mosquitto-clients is not installed' }, async (t) => {
    for (const version of ['mqttv311', 'mqttv5']) {
      const guid = randomUUID()
      const at = [
        '-h', '127.0.0.1', '-p', String(inkcast.gateway.port(TLS)), '--cafile', authority.ca, '-V', version, '-t', `doc/${guid}`,
        '-q', '1', '-u', 'x', '-P', await signToken({ sub: 'mosquitto' })
      ]
      const sub = spawn('mosquitto_sub', [...at, '-C', '2'])
      t.after(() => sub.kill())
      let text = ''
      sub.stdout.on('data', (data) => { text += data })
      const ended = once(sub, 'close')
      await waitFor(() => isOpen(guid))
      for (const message of ['{"n":1}', '{"n":2}']) await promisify(execFile)('mosquitto_pub', [...at, '-m', message])
      assert.deepEqual(await ended, [0, null], text)
      assert.match(text, /\{"n":1\}[^]*\{"n":2\}/)
    }
  })

  test('paho-mqtt over TCP, TLS and WebSocket, with both versions; its session continues', { skip: NO_PAHO }, async () => {
    const ways = [
      { port: inkcast.gateway.port(TCP) }, { port: inkcast.gateway.port(TLS), ca: authority.ca },
      { port: Number(shared), ca: authority.ca, transport: 'websockets', path: '/mqtt' }
    ]
    for (const version of [4, 5]) {
      for (const way of ways) {
        const guid = randomUUID()
        const options = {
          host: '127.0.0.1', ...way, version, client: guid, topic: `doc/${guid}`, user: 'x', password: await signToken({ sub: 'paho' })
        }
        const first = await runPaho({ ...options, value: 'first', count: 1 })
        assert.deepEqual(first, [
          { connected: 'Success', present: false }, { topic: `doc/${guid}`, qos: 1, dup: false, value: 'first' }
        ])
        for (let i = 0; i < 20; i++) await inkcast.post(`/v1/documents/${guid}/broadcast`, i)
        const second = await runPaho({ ...options, value: 'second', count: 22 })
        assert.deepEqual(second[0], { connected: 'Success', present: true })
        // it had ended before it acknowledged the first; its own message may come between, or after
        const missed = second.slice(1).filter(({ value }) => value !== 'second').map(({ value, dup }) => [value, dup])
        assert.deepEqual(missed, [['first', true], ...Array.from({ length: 20 }, (_, i) => [i, false])])
      }
    }
  })
})

describe('the application at AUTH_CONNECT_URL', () => {
  test('gets user name and password, and decides who the client is', async (t) => {
    const application = await httpService(t, ({ body }) => {
      const { auth } = JSON.parse(body)
      return auth.username === 'sensor' && auth.token === 'secret'
        ? { body: JSON.stringify({ uid: 'user-of-sensor' }) }
        : { status: 401, body: JSON.stringify({ code: 'no_such_device', message: 'Ask the owner' }) }
    })
    const own = await startEmbedded(t, {
      LISTENERS: TCP, AUTH_CONNECT_URL: application.url, UPLINK_SECRETS: WEBHOOK_SECRET
    })
    for (const [protocolVersion, refused] of [[4, 5], [5, 0x87]]) {
      const connect = (/** @type {string} */ password) =>
        mqttClient(t, own.gateway.port(TCP), { protocolVersion, clientId: 'board', username: 'sensor', password })
      const { connack } = await connect('secret')
      assert.equal(connack.returnCode ?? connack.reasonCode, 0)
      assert.deepEqual([...own.gateway.directory.all()].map(({ uid, client }) => [uid, client]).at(-1), ['user-of-sensor', 'board'])
      const wrong = await connect('guess')
      assert.equal(wrong.connack.returnCode ?? wrong.connack.reasonCode, refused)
      if (protocolVersion === 5) assert.match(wrong.connack.properties.reasonString, /^no_such_device: Ask the owner/)
      await wrong.closed()
    }
  })
})
