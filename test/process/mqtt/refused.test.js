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
async function pair (t) {
  const topic = `doc/${randomUUID()}`
  const [sender, receiver] = [await mqttClient(t, port, V5), await mqttClient(t, port, V5)]
  return { topic, sender, receiver }
}

// statements of the specifications that inkcast does not keep (docs/internals/mqtt.md)
describe('not kept', () => {
  test('[MQTT-3.3.1-12] [MQTT-3.1.2-16] [MQTT-3.3.1-7] [MQTT5-3.3.1-8] [MQTT5-3.1.2-14] every record is the retained message, with the ' +
    'flag RETAIN and without', async (t) => {
    const { topic, sender, receiver } = await pair(t)
    await sender.publish(topic, 'retained', { retain: true })
    await sender.publish(topic, 'newer')
    await receiver.subscribe(topic)
    assert.equal((await receiver.record()).value, 'newer')
  })

  test('[MQTT-3.3.1-10] [MQTT-3.3.1-11] [MQTT5-3.3.1-6] [MQTT5-3.3.1-7] a message without a payload is refused, and ' +
    'removes nothing', async (t) => {
    const { topic, sender, receiver } = await pair(t)
    await sender.publish(topic, 'kept', { retain: true })
    assert.equal((await sender.publish(topic, 0, { payload: '', retain: true })).reasonCode, 0x99)
    await receiver.subscribe(topic)
    assert.equal((await receiver.record()).value, 'kept')
  })

  test('[MQTT5-3.3.1-13] RETAIN of the sender does not reach a subscription with Retain As Published', async (t) => {
    const { topic, sender, receiver } = await pair(t)
    await receiver.subscribe(topic, 0, { rap: true })
    await sender.publish(topic, 1, { retain: true })
    assert.equal((await receiver.record()).packet.retain, false)
  })

  test('[MQTT-3.8.4-6] [MQTT5-3.8.4-8] a message of quality 0 is a record of the log, which a subscription of quality 1 ' +
    'gets with it', async (t) => {
    const { topic, sender, receiver } = await pair(t)
    await receiver.subscribe(topic, 1)
    sender.send({ cmd: 'publish', topic, payload: '1', qos: 0 })
    assert.equal((await receiver.record()).packet.qos, 1)
  })

  test('[MQTT5-3.3.2-4] [MQTT5-3.3.2-5] [MQTT5-3.3.2-6] [MQTT5-3.3.2-15] [MQTT5-3.3.2-16] [MQTT5-3.3.2-17] [MQTT5-3.3.2-18] ' +
    '[MQTT5-3.3.2-20] [MQTT5-3.1.3-10] properties of a message end at the gateway, but x-event and traceparent', async (t) => {
    const { topic, sender, receiver } = await pair(t)
    await receiver.subscribe(topic)
    await sender.publish(topic, 1, {
      properties: {
        payloadFormatIndicator: true, messageExpiryInterval: 5, responseTopic: 'doc/answer', correlationData: Buffer.from('1'),
        contentType: 'application/json', userProperties: { 'x-event': 'measured', own: 'value' }
      }
    })
    const { userProperties, ...rest } = (await receiver.record()).packet.properties
    assert.deepEqual(rest, {})
    assert.deepEqual([userProperties['x-event'], userProperties.own], ['measured', undefined])
  })

  test('[MQTT5-3.1.3-9] a will does not wait for its delay', async (t) => {
    const { topic, receiver } = await pair(t)
    await receiver.subscribe(topic)
    const client = await mqttClient(t, port, {
      ...V5, clientId: 'delayed', will: { topic, payload: '1', qos: 0, retain: false, properties: { willDelayInterval: 3600 } }
    })
    client.socket.destroy()
    assert.equal((await receiver.record()).value, 1)
  })
})
