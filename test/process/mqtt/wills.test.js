import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { mqttClient } from '../../helpers/mqtt-client.js'

const LISTENER = 'mqtt://127.0.0.1:0'
const inkcast = await startEmbedded({ after }, { LISTENERS: LISTENER })
const port = inkcast.gateway.port(LISTENER)
const V5 = { protocolVersion: 5 }

/** @param {import('node:test').TestContext} t */
async function watched (t) {
  const topic = `doc/${randomUUID()}`
  const watcher = await mqttClient(t, port)
  await watcher.subscribe(topic)
  return {
    watcher, topic,
    /** @param {object} more @param {unknown} payload of the will */
    async connect (more, payload, will = {}) {
      const message = { topic, payload: JSON.stringify(payload), qos: 1, retain: false }
      return mqttClient(t, port, { ...more, will: { ...message, ...will } })
    }
  }
}

describe('a will', () => {
  test('[MQTT-3.1.2-8] [MQTT5-3.1.2-8] is sent after a lost connection, an error of the protocol, a keep-alive that is over, and a ' +
    'connection that replaces it', async (t) => {
    for (const protocolVersion of [4, 5]) {
      const { watcher, connect } = await watched(t)
      const lost = await connect({ protocolVersion }, 'lost')
      lost.socket.destroy()
      assert.equal((await watcher.record()).value, 'lost')
      const wrong = await connect({ protocolVersion }, 'wrong')
      wrong.socket.write(Buffer.from([0, 0]))
      assert.equal((await watcher.record()).value, 'wrong')
      await connect({ protocolVersion, keepalive: 1 }, 'silent')
      assert.equal((await watcher.record()).value, 'silent')
      const clientId = randomUUID()
      await connect({ protocolVersion, clientId }, 'replaced')
      await mqttClient(t, port, { protocolVersion, clientId })
      assert.equal((await watcher.record()).value, 'replaced')
    }
  })

  test('[MQTT-3.1.2-10] [MQTT-3.1.2-12] [MQTT-3.14.4-3] [MQTT5-3.1.2-10] [MQTT5-3.14.4-3] is sent once, not after DISCONNECT, and in ' +
    'version 5 after DISCONNECT with a reason', async (t) => {
    const { watcher, topic, connect } = await watched(t)
    for (const protocolVersion of [4, 5]) {
      const polite = await connect({ protocolVersion }, 'polite')
      polite.send({ cmd: 'disconnect', reasonCode: 0 })
      await polite.closed()
      const none = await mqttClient(t, port, { protocolVersion })
      none.socket.destroy()
    }
    for (const reasonCode of [0x04, 0x80, 0x81, 0x97]) {
      const client = await connect(V5, reasonCode)
      client.send({ cmd: 'disconnect', reasonCode })
      await client.closed()
      assert.equal((await watcher.record()).value, reasonCode)
    }
    await watcher.publish(topic, 'last')
    assert.equal((await watcher.record()).value, 'last')
  })

  test('[MQTT-3.1.2-7] [MQTT-3.1.2-17] [MQTT5-3.1.2-15] [MQTT-3.3.1-5] [MQTT5-3.3.1-5] is the retained message of its topic, as every ' +
    'record', async (t) => {
    const { watcher, topic, connect } = await watched(t)
    const client = await connect({}, 'retained', { retain: true })
    client.socket.destroy()
    await watcher.record()
    const later = await mqttClient(t, port)
    await later.subscribe(topic)
    const { packet, value } = await later.record()
    assert.deepEqual([packet.retain, value], [true, 'retained'])
  })
})
