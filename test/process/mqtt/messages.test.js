import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { mqttClient } from '../../helpers/mqtt-client.js'
import { waitFor } from '../../helpers/wait.js'

const inkcast = await startEmbedded({ after }, { LISTENERS: 'mqtt://127.0.0.1:0', MAX_DOCUMENTS_PER_CONNECTION: '20' })
const port = inkcast.gateway.port('mqtt://127.0.0.1:0')
const V5 = { protocolVersion: 5 }
/** @param {string} guid @param {unknown} value @param {Record<string, string>} [headers] */
const post = (guid, value, headers) => inkcast.post(`/v1/documents/${encodeURIComponent(guid)}/broadcast`, value, headers)

describe('a subscription', () => {
  test('[MQTT-3.3.5-1] [MQTT-3.8.4-5] [MQTT5-3.8.4-7] [MQTT5-3.2.2-10] to a document gets each record once and in order, at the ' +
    'granted quality', async (t) => {
    for (const [protocolVersion, qos, granted] of [[4, 0, 0], [4, 1, 1], [5, 2, 1]]) {
      const guid = randomUUID()
      const client = await mqttClient(t, port, { protocolVersion })
      assert.equal(await client.subscribe(`doc/${guid}`, qos), granted)
      for (let i = 0; i < 40; i++) await post(guid, { i })
      for (let i = 0; i < 40; i++) {
        const { packet, value } = await client.record()
        assert.deepEqual([packet.topic, packet.qos, packet.retain, packet.dup, value.i], [`doc/${guid}`, granted, false, false, i])
      }
    }
  })

  test('[MQTT5-3.3.4-9] [MQTT5-4.9.0-1] [MQTT-2.3.1-4] [MQTT5-2.2.1-4] no more records are on their way than the client takes; the ' +
    'rest follows from the log', async (t) => {
    const three = { ...V5, properties: { receiveMaximum: 3 } }
    for (const [connect, most] of /** @type {[any, number][]} */ ([[{}, 16], [V5, 16], [three, 3]])) {
      const guid = randomUUID()
      const client = await mqttClient(t, port, connect)
      await client.subscribe(`doc/${guid}`, 1)
      for (let i = 0; i < 40; i++) await post(guid, i)
      client.send({ cmd: 'pingreq' })
      await client.next('pingresp')
      assert.equal(client.received.length, most)
      const ids = client.received.map(({ messageId }) => messageId)
      assert.equal(new Set(ids).size, most)
      for (let i = 0; i < 40; i++) assert.equal((await client.record()).value, i)
    }
  })

  test('[MQTT5-3.3.4-9] records of a document that is revoked are on their way until the client acknowledges them', async (t) => {
    const [guid, other, clientId] = [randomUUID(), randomUUID(), randomUUID()]
    const client = await mqttClient(t, port, { ...V5, clientId, properties: { receiveMaximum: 1 } })
    for (const one of [guid, other]) await client.subscribe(`doc/${one}`, 1)
    await post(guid, 'revoked')
    const { messageId } = await client.next('publish')
    const uid = [...inkcast.gateway.directory.all()].find((one) => one.client === clientId)?.uid
    await inkcast.post(`/v1/documents/${guid}/revoke`, { uid })
    await post(other, 'other')
    client.send({ cmd: 'pingreq' })
    await client.next('pingresp')
    assert.deepEqual(client.received, [])
    client.send({ cmd: 'puback', messageId, reasonCode: 0 })
    assert.equal((await client.record()).value, 'other')
  })

  test('all receivers of a record share its packet and the id in it', async (t) => {
    const guid = randomUUID()
    const clients = [await mqttClient(t, port), await mqttClient(t, port, V5), await mqttClient(t, port, V5)]
    for (const client of clients) await client.subscribe(`doc/${guid}`, 1)
    await clients[0].subscribe(`doc/other-${guid}`, 1)
    for (let i = 0; i < 3; i++) await post(`other-${guid}`, i)
    for (let i = 0; i < 3; i++) await clients[0].record()
    for (let i = 0; i < 3; i++) await post(guid, i)
    const ids = await Promise.all(clients.map(async (client) =>
      [await client.record(), await client.record(), await client.record()].map(({ packet }) => packet.messageId)))
    const [first] = ids[0]
    for (const each of ids) assert.deepEqual(each, [first, first % 65_535 + 1, (first + 1) % 65_535 + 1])
  })

  test('[MQTT-3.3.1-6] [MQTT-3.3.1-8] [MQTT5-3.3.1-9] [MQTT5-3.3.1-10] [MQTT5-3.3.1-11] begins with the newest record, which has the ' +
    'flag RETAIN; version 5 says whether and how many', async (t) => {
    const guid = randomUUID()
    for (let i = 0; i < 5; i++) await post(guid, i)
    const client = await mqttClient(t, port)
    await client.subscribe(`doc/${guid}`, 1)
    const { packet, value } = await client.record()
    assert.deepEqual([packet.retain, value], [true, 4])
    await client.subscribe(`doc/${guid}`, 0)
    assert.deepEqual((await client.record()).value, 4)
    const five = await mqttClient(t, port, V5)
    await five.subscribe(`doc/${guid}`, 1, { rh: 2 })
    await five.subscribe(`doc/${guid}`, 1, { rh: 1 })
    await post(guid, 5)
    assert.deepEqual((await five.record()).value, 5)
    const three = await mqttClient(t, port, V5)
    await three.subscribe(`doc/${guid}`, 1, { properties: { userProperties: { last: '3' } } })
    for (const expected of [3, 4, 5]) assert.equal((await three.record()).value, expected)
  })

  test('[MQTT-3.8.3-2] [MQTT-4.7.1-2] [MQTT-4.7.1-3] [MQTT-4.7.2-1] [MQTT5-4.7.1-1] [MQTT5-4.7.1-2] [MQTT5-4.7.2-1] ' +
    '[MQTT-3.9.3-2] [MQTT5-3.9.3-2] wildcards, shared subscriptions, identifiers and other topics are refused with ' +
    'their code', async (t) => {
    const client = await mqttClient(t, port, V5)
    for (const [topic, code] of /** @type {[string, number][]} */ ([
      ['doc/+', 0xa2], ['#', 0xa2], ['$share/a/doc/b', 0x9e], ['elsewhere', 0x8f], ['doc/a/b', 0x8f], ['doc/a%41', 0x8f], ['$SYS/x', 0x8f],
      [`doc/a/signal/${'x'.repeat(257)}`, 0x8f]
    ])) assert.equal(await client.subscribe(topic), code, topic)
    const older = await mqttClient(t, port)
    assert.equal(await older.subscribe('doc/#'), 0x80)
    for (let i = 0; i < 20; i++) assert.equal(await older.subscribe(`doc/${randomUUID()}`), 0)
    assert.equal(await older.subscribe(`doc/${randomUUID()}`), 0x80)
    client.send({
      cmd: 'subscribe', messageId: 99, subscriptions: [{ topic: 'doc/a', qos: 0 }], properties: { subscriptionIdentifier: 1 }
    })
    assert.equal((await client.next('disconnect')).reasonCode, 0xa1)
  })

  test('[MQTT-3.10.4-1] [MQTT5-3.10.4-1] [MQTT5-3.11.3-1] [MQTT5-3.11.3-2] ends with UNSUBSCRIBE, and UNSUBACK says whether there ' +
    'was one', async (t) => {
    const [one, two] = [randomUUID(), randomUUID()]
    const client = await mqttClient(t, port, V5)
    await client.subscribe(`doc/${one}`)
    await client.subscribe(`doc/${two}`)
    client.send({ cmd: 'unsubscribe', messageId: 7, unsubscriptions: [`doc/${one}`, 'doc/other'] })
    assert.deepEqual((await client.next('unsuback')).granted, [0, 0x11])
    await post(one, 1)
    await post(two, 2)
    assert.equal((await client.record()).value, 2)
  })

  test('a guid with a slash is written as in a URL', async (t) => {
    const client = await mqttClient(t, port)
    const guid = `a/b+${randomUUID()}`
    await client.subscribe(`doc/${guid.replace('/', '%2F').replace('+', '%2B')}`)
    await post(guid, 'there')
    assert.equal((await client.record()).value, 'there')
  })

  test('[MQTT5-3.1.2-24] [MQTT5-3.1.2-25] a record above the client\'s largest packet is left out, and counted', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, { ...V5, properties: { maximumPacketSize: 500 } })
    await client.subscribe(`doc/${guid}`, 1)
    await post(guid, 'x'.repeat(600))
    await post(guid, 'small')
    assert.equal((await client.record()).value, 'small')
    assert.equal((await inkcast.metrics.mqtt_records_too_large.get()).values[0].value, 1)
  })

  test('records of version 5 have their event, trace and offset as user properties', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, V5)
    await client.subscribe(`doc/${guid}`)
    await post(guid, 1, { 'x-event': 'measured', 'x-trace-id': 'trace-1' })
    const { packet } = await client.record()
    assert.deepEqual({ ...packet.properties.userProperties }, { 'x-event': 'measured', 'x-offset': '1', 'x-trace-id': 'trace-1' })
  })

  test('to `user` gets what is published for the user, and to `gateway` events of the gateway', async (t) => {
    const client = await mqttClient(t, port, V5)
    await client.subscribe('user', 1)
    await client.subscribe('gateway')
    await client.subscribe('doc/closing')
    const { assignedClientIdentifier: id } = client.connack.properties
    const { uid } = [...inkcast.gateway.directory.all()].find((connection) => connection.client === id) ?? {}
    await waitFor(async () => (await inkcast.post(`/v1/users/${uid}/send`, 'for you', { 'x-keep': 'true' })).status === 202)
    const { packet, value } = await client.record()
    assert.deepEqual([packet.topic, packet.qos, value], ['user', 1, 'for you'])
    await fetch(`${inkcast.apiUrl}/v1/documents/closing/connections`, { method: 'DELETE' })
    const { value: event } = await client.record()
    assert.equal(event.event, 'doc:closed')
  })
})

describe('a message', () => {
  test('is a message of the document, with PUBACK once it is accepted and no subscription needed', async (t) => {
    const guid = randomUUID()
    const browser = await connectClient(t, inkcast.url)
    await browser.emitWithAck('doc:join', { guid })
    const received = new Promise((resolve) => browser.once('measured', (value, meta) => resolve([value, meta])))
    const client = await mqttClient(t, port, V5)
    const puback = await client.publish(`doc/${guid}`, { t: 21.5 }, { properties: { userProperties: { 'x-event': 'measured' } } })
    assert.equal(puback.reasonCode, 0)
    const [value, meta] = /** @type {any} */ (await received)
    assert.deepEqual([value, meta.guid, meta.offset], [{ t: 21.5 }, guid, 1])
    const plain = new Promise((resolve) => browser.once('message', resolve))
    client.send({ cmd: 'publish', topic: `doc/${guid}`, payload: '"quality 0"', qos: 0 })
    assert.equal(await plain, 'quality 0')
  })

  test('[MQTT-4.8.0-2] that may succeed later ends a connection of 3.1.1, so that the client sends it again', async (t) => {
    // or a slow machine sends no more than the limit allows
    const { clock } = holdTime(t)
    const { gateway } = await startEmbedded(t, { LISTENERS: 'mqtt://127.0.0.1:0' }, undefined, { clock })
    const client = await mqttClient(t, gateway.port('mqtt://127.0.0.1:0'))
    for (let i = 0; i < 400; i++) client.send({ cmd: 'publish', messageId: i + 1, topic: 'doc/a', payload: '1', qos: 1 })
    await client.closed()
    assert.ok(client.received.length < 400 && client.received.every(({ cmd }) => cmd === 'puback'), String(client.received.length))
  })

  test('[MQTT5-3.4.2-1] PUBACKs come in the order of the messages', async (t) => {
    const client = await mqttClient(t, port)
    const ids = Array.from({ length: 50 }, (_, i) => 60_000 + i)
    for (const messageId of ids)
      client.send({ cmd: 'publish', messageId, topic: `doc/${messageId % 7}`, payload: '1', qos: 1 })
    await waitFor(() => client.received.length === 50)
    assert.deepEqual(client.received.map(({ messageId }) => messageId), ids)
  })

  test('[MQTT5-3.4.2-1] [MQTT5-3.1.2-29] that is refused has a reason in version 5, in words if the client wants it; [MQTT-3.3.5-2] ' +
    'in 3.1.1 it is acknowledged', async (t) => {
    const client = await mqttClient(t, port, V5)
    const older = await mqttClient(t, port)
    const { reasonCode, properties } = await client.publish('doc/a', 1, { payload: 'no JSON' })
    assert.equal(reasonCode, 0x99)
    assert.match(properties.reasonString, /not valid JSON/)
    assert.equal((await older.publish('doc/a', 1, { payload: 'no JSON' })).reasonCode ?? 0, 0)
    for (const [topic, code] of /** @type {[string, number][]} */ ([['user', 0x87], ['other', 0x90], ['doc/a/signal/x', 0x83]]))
      assert.equal((await client.publish(topic, 1)).reasonCode, code, topic)
    const quiet = await mqttClient(t, port, { ...V5, properties: { requestProblemInformation: false } })
    assert.equal((await quiet.publish('user', 1)).properties, undefined)
  })

  test('[MQTT-3.3.2-2] [MQTT-4.7.1-1] [MQTT5-3.3.2-2] [MQTT5-4.7.0-1] [MQTT5-3.2.2-11] of quality 2, to wildcards or ' +
    'with a wrong alias ends the connection' +
    '[MQTT-3.3.2-2] [MQTT5-3.3.2-2] [MQTT5-3.2.2-11] of quality 2, to wildcards or with a wrong alias ends the connection', async (t) => {
    const message = { cmd: 'publish', messageId: 1, topic: 'doc/a', payload: '1', qos: 0 }
    for (const [packet, reason] of /** @type {[any, number][]} */ ([
      [{ qos: 2 }, 0x9b], [{ topic: 'doc/+' }, 0x90], [{ properties: { topicAlias: 17 } }, 0x94],
      [{ topic: 'x'.repeat(60_000), properties: { topicAlias: 1 } }, 0x90],
      [{ topic: '', properties: { topicAlias: 3 } }, 0x82], [{ topic: '' }, 0x82], [{ qos: 1, messageId: 0 }, 0x81]
    ])) {
      const client = await mqttClient(t, port, V5)
      client.send({ ...message, ...packet })
      assert.equal((await client.next('disconnect')).reasonCode, reason, JSON.stringify(packet))
      await client.closed()
    }
    const older = await mqttClient(t, port)
    older.send({ ...message, qos: 2 })
    await older.closed()
  })

  test('[MQTT5-3.3.2-12] a topic alias stands for its topic', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, V5)
    await client.subscribe(`doc/${guid}`)
    await client.publish(`doc/${guid}`, 1, { properties: { topicAlias: 2 } })
    await client.publish('', 2, { properties: { topicAlias: 2 } })
    assert.deepEqual([(await client.record()).value, (await client.record()).value], [1, 2])
    const longest = `doc/${'%2F'.repeat(256)}/signal/${'%2F'.repeat(256)}`
    assert.equal((await client.publish(longest, 3, { properties: { topicAlias: 1 } })).reasonCode, 0x83, 'it is not subscribed')
  })

  test('[MQTT5-3.8.3-3] with No Local a client does not get its own messages; signals reach subscribers of their topic only', async (t) => {
    const guid = randomUUID()
    const [one, two] = [await mqttClient(t, port, V5), await mqttClient(t, port, V5)]
    await one.subscribe(`doc/${guid}`, 0, { nl: true })
    await one.publish(`doc/${guid}`, 'own')
    await two.subscribe(`doc/${guid}/signal/cursor`)
    one.send({ cmd: 'publish', topic: `doc/${guid}/signal/other`, payload: '1', qos: 0 })
    one.send({ cmd: 'publish', topic: `doc/${guid}/signal/cursor`, payload: '2', qos: 0 })
    assert.deepEqual((await two.record()).value, 2)
    await two.publish(`doc/${guid}`, 'other')
    assert.equal((await one.record()).value, 'other')
  })

  test('[MQTT-3.1.2-8] [MQTT5-3.1.2-7] the will is sent when a client is gone, and [MQTT-3.14.4-3] not after DISCONNECT', async (t) => {
    const guid = randomUUID()
    const watcher = await mqttClient(t, port)
    await watcher.subscribe(`doc/${guid}`)
    const will = (/** @type {string} */ payload) => ({ topic: `doc/${guid}`, payload: JSON.stringify(payload), qos: 1, retain: false })
    const polite = await mqttClient(t, port, { clientId: 'polite', will: will('left') })
    polite.send({ cmd: 'disconnect' })
    await polite.closed()
    const gone = await mqttClient(t, port, { clientId: 'gone', will: will('gone') })
    gone.socket.destroy()
    assert.equal((await watcher.record()).value, 'gone')
  })
})
