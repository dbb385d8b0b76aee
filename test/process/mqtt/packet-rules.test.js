import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import mqttPacket from 'mqtt-packet'
import { startEmbedded } from '../../helpers/embedded.js'
import { packet, text } from '../../helpers/mqtt-bytes.js'
import { mqttClient } from '../../helpers/mqtt-client.js'
import { waitFor } from '../../helpers/wait.js'

const LISTENER = 'mqtt://127.0.0.1:0'
const inkcast = await startEmbedded({ after }, { LISTENERS: LISTENER })
const port = inkcast.gateway.port(LISTENER)
const V5 = { protocolVersion: 5 }
const VERSIONS = /** @type {const} */ ([4, 5])
/** @param {string} guid @param {unknown} value */
const post = (guid, value) => inkcast.post(`/v1/documents/${guid}/broadcast`, value)

/**
 * The packet ends the connection: in version 5 with a reason, in 3.1.1 without a word.
 * @param {import('node:test').TestContext} t
 * @param {(version: 4 | 5) => Buffer} bytesOf
 * @param {number} reason
 */
async function ends (t, bytesOf, reason) {
  for (const protocolVersion of VERSIONS) {
    const client = await mqttClient(t, port, { protocolVersion })
    const bytes = bytesOf(protocolVersion)
    client.socket.write(bytes)
    await client.closed()
    const expected = protocolVersion === 5 ? [['disconnect', reason]] : []
    const received = client.received.map(({ cmd, reasonCode }) => [cmd, reasonCode])
    assert.deepEqual(received, expected, `${protocolVersion} ${bytes.toString('hex')}`)
  }
}

/** The property length of version 5. @param {number} version */
const none = (version) => version === 5 ? [0] : []

describe('a packet', () => {
  test('[MQTT-2.2.2-1] [MQTT-2.2.2-2] [MQTT-3.3.1-2] [MQTT-3.3.1-4] [MQTT-3.6.1-1] [MQTT-3.8.1-1] [MQTT-3.10.1-1] [MQTT-3.14.1-1] ' +
    '[MQTT5-2.1.3-1] [MQTT5-3.3.1-2] [MQTT5-3.3.1-4] [MQTT5-3.6.1-1] [MQTT5-3.8.1-1] [MQTT5-3.10.1-1] [MQTT5-3.14.1-1] [MQTT5-3.15.1-1] ' +
    'with wrong flags ends the connection', async (t) => {
    const topic = text('doc/a')
    const id = [0, 1]
    for (const [type, body] of /** @type {[number, (version: number) => number[]][]} */ ([
      [0x36, (version) => [...topic, ...id, ...none(version), 0x31]],
      [0x38, (version) => [...topic, ...none(version), 0x31]],
      [0x41, () => id], [0x60, () => id],
      [0x80, (version) => [...id, ...none(version), ...topic, 0]],
      [0x83, (version) => [...id, ...none(version), ...topic, 0]],
      [0xa0, (version) => [...id, ...none(version), ...topic]],
      [0xc1, () => []], [0xe1, () => []], [0xf1, () => []]
    ])) await ends(t, (version) => packet(type, body(version)), 0x81)
  })

  test('[MQTT-2.2.2-2] [MQTT5-2.1.3-1] that acknowledges a record, with wrong flags, acknowledges nothing', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, V5)
    await client.subscribe(`doc/${guid}`, 1)
    await post(guid, 1)
    const { messageId } = await client.next('publish')
    client.socket.write(packet(0x42, [0, messageId]))
    assert.equal((await client.next('disconnect')).reasonCode, 0x81)
  })

  test('[MQTT-2.3.1-1] [MQTT5-2.2.1-3] [MQTT-2.3.1-5] [MQTT5-2.2.1-2] without a packet id ends the connection, and one ' +
    'of quality 0 has none',
  async (t) => {
    await ends(t, (version) => packet(0x32, [...text('doc/a'), 0, 0, ...none(version), 0x31]), 0x81)
    await ends(t, (version) => packet(0x82, [0, 0, ...none(version), ...text('doc/a'), 0]), 0x81)
    await ends(t, (version) => packet(0xa2, [0, 0, ...none(version), ...text('doc/a')]), 0x81)
    const guid = randomUUID()
    const client = await mqttClient(t, port)
    await client.subscribe(`doc/${guid}`)
    client.socket.write(packet(0x30, [...text(`doc/${guid}`), ...Buffer.from('"payload"')]))
    const { packet: record, value } = await client.record()
    assert.deepEqual([record.messageId, value], [undefined, 'payload'])
  })

  test('[MQTT-3.8.3-3] [MQTT-3.10.3-2] [MQTT-4.7.3-1] [MQTT5-3.8.3-2] [MQTT5-3.10.3-2] [MQTT5-4.7.3-1] without a topic, or with an empty ' +
    'one, ends the connection', async (t) => {
    for (const type of [0x82, 0xa2]) {
      await ends(t, (version) => packet(type, [0, 1, ...none(version)]), 0x82)
      await ends(t, (version) => packet(type, [0, 1, ...none(version), 0, 0, ...type === 0x82 ? [0] : []]), 0x81)
    }
    const client = await mqttClient(t, port)
    client.socket.write(packet(0x30, [0, 0, 0x31]))
    await client.closed()
  })

  test('[MQTT-3-8.3-4] [MQTT5-3.8.3-5] [MQTT5-3.8.3-4] with wrong options of a subscription ends the connection', async (t) => {
    const subscribe = (/** @type {number} */ version, /** @type {number} */ options, topic = 'doc/a') =>
      packet(0x82, [0, 1, ...none(version), ...text(topic), options])
    for (const options of [0x03, 0x40, 0x80, 0xc1]) await ends(t, (version) => subscribe(version, options), 0x81)
    const handling = await mqttClient(t, port, V5)
    handling.socket.write(subscribe(5, 0x30))
    assert.equal((await handling.next('disconnect')).reasonCode, 0x81)
    const shared = await mqttClient(t, port, V5)
    shared.socket.write(subscribe(5, 0x04, '$share/group/doc/a'))
    assert.equal((await shared.next('disconnect')).reasonCode, 0x82)
    const four = await mqttClient(t, port)
    four.socket.write(subscribe(4, 0x04))
    await four.closed()
  })

  test('[MQTT-1.5.3-1] [MQTT-1.5.3-2] [MQTT-3.3.2-1] [MQTT-3.8.3-1] [MQTT-3.10.3-1] [MQTT-4.7.3-2] [MQTT5-1.5.4-1] [MQTT5-1.5.4-2] ' +
    '[MQTT5-1.5.7-1] [MQTT5-3.3.2-1] [MQTT5-3.3.2-13] [MQTT5-3.3.2-19] [MQTT5-3.8.3-1] [MQTT5-3.10.3-1] [MQTT5-4.7.3-2] with a text that ' +
    'is not UTF-8 ends the connection', async (t) => {
    for (const wrong of [[0xc3], [0xed, 0xa0, 0x80], [0x61, 0]]) {
      const topic = text([...Buffer.from('doc/'), ...wrong])
      await ends(t, (version) => packet(0x30, [...topic, ...none(version), 0x31]), 0x81)
      await ends(t, (version) => packet(0x82, [0, 1, ...none(version), ...topic, 0]), 0x81)
      await ends(t, (version) => packet(0xa2, [0, 1, ...none(version), ...topic]), 0x81)
      for (const property of [0x03, 0x08, 0x26]) {
        const properties = [property, ...text(wrong), ...property === 0x26 ? text('value') : []]
        const client = await mqttClient(t, port, V5)
        client.socket.write(packet(0x30, [...text('doc/a'), properties.length, ...properties, 0x31]))
        assert.equal((await client.next('disconnect')).reasonCode, 0x81, String(properties))
      }
    }
  })

  test('[MQTT5-3.3.4-6] [MQTT5-4.13.1-1] with a property that is not its own, or comes twice, ends the connection', async (t) => {
    for (const properties of [[0x0b, 1], [0x11, 0, 0, 0, 1], [0x03, ...text('a/b'), 0x03, ...text('c/d')], [0x7f, 1]]) {
      const client = await mqttClient(t, port, V5)
      client.socket.write(packet(0x30, [...text('doc/a'), properties.length, ...properties, 0x31]))
      assert.ok([0x81, 0x82].includes((await client.next('disconnect')).reasonCode), String(properties))
      await client.closed()
    }
  })

  test('[MQTT-2.3.1-6] [MQTT-2.3.1-7] [MQTT-3.8.4-1] [MQTT-3.8.4-2] [MQTT-3.10.4-4] [MQTT-3.10.4-5] [MQTT5-2.2.1-5] [MQTT5-2.2.1-6] ' +
    '[MQTT5-2.2.2-1] [MQTT5-3.8.4-1] [MQTT5-3.8.4-2] [MQTT5-3.10.4-4] [MQTT5-3.10.4-5] is answered with its id', async (t) => {
    for (const protocolVersion of VERSIONS) {
      const client = await mqttClient(t, port, { protocolVersion })
      for (const messageId of [1, 256, 65_535]) {
        const topic = `doc/${randomUUID()}`
        client.send({ cmd: 'subscribe', messageId, subscriptions: [{ topic, qos: 1 }] })
        assert.equal((await client.next('suback')).messageId, messageId)
        client.send({ cmd: 'publish', messageId, topic, payload: '1', qos: 1 })
        assert.equal((await client.next('puback')).messageId, messageId)
        for (let i = 0; i < 2; i++) {
          client.send({ cmd: 'unsubscribe', messageId, unsubscriptions: [topic] })
          assert.equal((await client.next('unsuback')).messageId, messageId)
        }
      }
    }
  })

  test('[MQTT-1.5.3-3] [MQTT5-1.5.4-3] [MQTT-4.7.3-4] [MQTT5-4.7.3-4] has a topic that no other spelling is the same as', async (t) => {
    const id = randomUUID()
    const topics = [`doc/${id}`, `doc/${id.toUpperCase()}`, `doc/\ufeff${id}`, `doc/${id}\u00e9`, `doc/${id}e\u0301`]
    const client = await mqttClient(t, port)
    for (const topic of topics) assert.equal(await client.subscribe(topic), 0)
    for (const topic of topics) {
      client.send({ cmd: 'publish', topic, payload: JSON.stringify(topic), qos: 0 })
      const { packet: record, value } = await client.record()
      assert.deepEqual([record.topic, value], [topic, topic])
    }
    client.send({ cmd: 'pingreq' })
    await client.next('pingresp')
    assert.deepEqual(client.received, [])
  })

  test('[MQTT-3.9.3-1] [MQTT-3.8.4-4] [MQTT-3.10.4-6] [MQTT5-3.9.3-1] [MQTT5-3.8.4-5] [MQTT5-3.8.4-6] [MQTT5-3.10.4-6] ' +
    'with several topics ' +
    'has one answer, in their order', async (t) => {
    for (const protocolVersion of VERSIONS) {
      const [one, two] = [randomUUID(), randomUUID()].map((guid) => `doc/${guid}`)
      const client = await mqttClient(t, port, { protocolVersion })
      const refused = protocolVersion === 5 ? 0xa2 : 0x80
      client.send({
        cmd: 'subscribe', messageId: 1,
        subscriptions: [[one, 0], ['doc/+', 0], [two, 2], [one, 1], ['doc/#', 1], [two, 0]].map(([topic, qos]) => ({ topic, qos }))
      })
      assert.deepEqual((await client.next('suback')).granted, [0, refused, 1, 1, refused, 0])
      for (const topic of [one, two]) client.send({ cmd: 'publish', topic, payload: '1', qos: 0 })
      const records = [await client.record(), await client.record()]
      assert.deepEqual(records.map(({ packet: { topic, qos } }) => [topic, qos]).sort(), [[one, 1], [two, 0]].sort())
      client.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [two, 'doc/none', one, two] })
      const { granted } = await client.next('unsuback')
      if (protocolVersion === 5) assert.deepEqual(granted, [0, 0x11, 0, 0x11])
      client.send({ cmd: 'pingreq' })
      await client.next('pingresp')
      assert.deepEqual(client.received, [])
    }
  })
})

describe('delivery', () => {
  test('[MQTT-3.3.1-3] [MQTT-3.3.1-9] [MQTT-4.3.1-1] [MQTT-4.3.2-1] [MQTT-4.3.2-2] [MQTT-3.3.4-1] [MQTT5-3.3.1-3] [MQTT5-3.3.1-12] ' +
    '[MQTT5-4.3.1-1] [MQTT5-4.3.2-1] [MQTT5-4.3.2-2] [MQTT5-4.3.2-4] [MQTT5-4.3.2-5] [MQTT5-3.3.4-1] a packet id is ' +
    'free after PUBACK, and ' +
    'DUP and RETAIN of the sender reach nobody else', async (t) => {
    for (const protocolVersion of VERSIONS) {
      const topic = `doc/${randomUUID()}`
      const [sender, zero, one] = await Promise.all([0, 1, 2].map(() => mqttClient(t, port, { protocolVersion })))
      await zero.subscribe(topic, 0)
      await one.subscribe(topic, 1)
      for (const value of ['first', 'second']) {
        sender.send({ cmd: 'publish', messageId: 7, topic, payload: JSON.stringify(value), qos: 1, dup: true, retain: true })
        assert.equal((await sender.next('puback')).messageId, 7)
      }
      for (const [client, qos] of /** @type {const} */ ([[zero, 0], [one, 1]])) {
        for (const expected of ['first', 'second']) {
          const { packet: record, value } = await client.record()
          assert.deepEqual([value, record.dup, record.retain, record.qos], [expected, false, false, qos])
        }
      }
    }
  })

  test('[MQTT-3.8.4-3] [MQTT5-3.8.4-3] [MQTT5-3.8.4-4] a subscription that replaces one loses and repeats nothing', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, V5)
    await client.subscribe(`doc/${guid}`, 1)
    const last = 60
    const published = (async () => { for (let i = 0; i <= last; i++) await post(guid, i) })()
    for (let i = 0; i < 20; i++) await client.subscribe(`doc/${guid}`, i % 2, { rh: i % 5 === 0 ? 0 : 2 })
    await published
    const values = []
    while (values.at(-1) !== last) {
      const { packet: record, value } = await client.record()
      if (!record.retain) values.push(value)
    }
    assert.deepEqual(values, Array.from({ length: last + 1 }, (_, i) => i))
  })

  test('[MQTT-3.10.4-2] [MQTT-3.10.4-3] [MQTT5-3.10.4-2] [MQTT5-3.10.4-3] after UNSUBSCRIBE records that are on their ' +
    'way are acknowledged, ' +
    'and no other comes', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, V5)
    await client.subscribe(`doc/${guid}`, 1)
    for (let i = 0; i < 3; i++) await post(guid, i)
    await waitFor(() => client.received.length === 3)
    client.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: [`doc/${guid}`] })
    await client.next('unsuback')
    await post(guid, 'later')
    for (let i = 0; i < 3; i++) assert.equal((await client.record()).value, i)
    client.send({ cmd: 'pingreq' })
    await client.next('pingresp')
    assert.deepEqual(client.received, [])
  })

  test('[MQTT5-3.3.4-10] [MQTT5-4.9.0-2] [MQTT5-4.9.0-3] [MQTT5-4.3.2-3] a client that acknowledges nothing gets all other packets',
    async (t) => {
      const [guid, other] = [randomUUID(), randomUUID()]
      const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 2 } })
      await client.subscribe(`doc/${guid}`, 1)
      for (let i = 0; i < 5; i++) await post(guid, i)
      await waitFor(() => client.received.length === 2)
      client.send({ cmd: 'pingreq' })
      await client.next('pingresp')
      assert.equal(await client.subscribe(`doc/${other}`, 0), 0)
      assert.equal((await client.publish(`doc/${other}`, 'own')).reasonCode, 0)
      await waitFor(() => client.received.length === 3)
      assert.deepEqual(client.received.map(({ qos }) => qos), [1, 1, 0])
      client.send({ cmd: 'unsubscribe', messageId: 77, unsubscriptions: [`doc/${other}`] })
      await client.next('unsuback')
      for (const expected of [0, 1, 'own', 2, 3, 4]) assert.equal((await client.record()).value, expected)
    })

  test('[MQTT5-4.4.0-2] a PUBACK with an error, and one with a long reason, are acknowledgements as well', async (t) => {
    const guid = randomUUID()
    const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 1 } })
    await client.subscribe(`doc/${guid}`, 1)
    for (let i = 0; i < 3; i++) await post(guid, i)
    for (const [i, reasonString] of ['no', 'x'.repeat(200)].entries()) {
      const { messageId, payload } = await client.next('publish')
      assert.equal(String(payload), String(i))
      client.send({ cmd: 'puback', messageId, reasonCode: 0x97, properties: { reasonString } })
    }
    assert.equal((await client.record()).value, 2)
  })

  test('[MQTT-4.6.0-5] [MQTT-4.6.0-6] [MQTT5-4.6.0-5] [MQTT5-4.6.0-6] [MQTT-3.3.2-3] [MQTT5-3.3.2-3] messages of one ' +
    'client reach another in ' +
    'their order', async (t) => {
    const topic = `doc/${randomUUID()}`
    const sender = await mqttClient(t, port)
    const receivers = await Promise.all([0, 1].map(async (qos) => {
      const client = await mqttClient(t, port)
      await client.subscribe(topic, qos)
      return client
    }))
    const count = 60
    const bytes = Array.from({ length: count }, (_, i) =>
      mqttPacket.generate({ cmd: 'publish', messageId: i + 1, topic, payload: String(i), qos: 1, dup: false, retain: false }))
    sender.socket.write(Buffer.concat(bytes))
    for (const client of receivers) {
      for (let i = 0; i < count; i++) {
        const { packet: record, value } = await client.record()
        assert.deepEqual([record.topic, value], [topic, i])
      }
    }
  })

  test('[MQTT5-3.3.2-7] [MQTT5-3.1.2-26] [MQTT5-3.1.2-27] [MQTT5-3.3.2-11] aliases of a client end with its connection, and it gets none',
    async (t) => {
      const topic = `doc/${randomUUID()}`
      const connect = () => mqttClient(t, port, { ...V5, clientId: 'alias', properties: { topicAliasMaximum: 5 } })
      const first = await connect()
      await first.subscribe(topic)
      await first.publish(topic, 1, { properties: { topicAlias: 1 } })
      const { packet: record } = await first.record()
      assert.deepEqual([record.topic, record.properties?.topicAlias], [topic, undefined])
      const second = await connect()
      second.send({ cmd: 'publish', topic: '', payload: '1', qos: 0, properties: { topicAlias: 1 } })
      assert.equal((await second.next('disconnect')).reasonCode, 0x82)
    })
})

test('[MQTT5-3.3.4-10] SUBACK of a document with records waits for no acknowledgement, and its newest record follows later', async (t) => {
  const [guid, other] = [randomUUID(), randomUUID()]
  const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 1 } })
  await client.subscribe(`doc/${guid}`, 1)
  await post(guid, 'first')
  await post(other, 'newest')
  await waitFor(() => client.received.length === 1)
  for (let i = 0; i < 2; i++) assert.equal(await client.subscribe(`doc/${other}`, 1), 1)
  assert.equal((await client.record()).value, 'first')
  const { packet: record, value } = await client.record()
  assert.deepEqual([record.topic, record.retain, value], [`doc/${other}`, true, 'newest'])
  await post(other, 'live')
  assert.equal((await client.record()).value, 'live')
})

/** @param {any} client @param {any[]} subscriptions @param {object} [properties] @returns {Promise<any>} granted */
async function subscribeAtOnce (client, subscriptions, properties) {
  client.send({ cmd: 'subscribe', messageId: 99, subscriptions, ...(properties && { properties }) })
  return (await client.next('suback')).granted
}

test('[MQTT5-3.3.4-10] SUBACK of two documents waits for no acknowledgement, and the records of the second one follow',
  async (t) => {
    const guids = [randomUUID(), randomUUID()]
    for (const guid of guids) await post(guid, 'newest')
    const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 1 } })
    assert.deepEqual(await subscribeAtOnce(client, guids.map((guid) => ({ topic: `doc/${guid}`, qos: 1 }))), [1, 1])
    for (const guid of guids) await post(guid, 'live')
    const got = new Map(guids.map((guid) => [`doc/${guid}`, /** @type {any[]} */ ([])]))
    for (let i = 0; i < 4; i++) {
      const { packet: { topic, retain }, value } = await client.record()
      got.get(topic)?.push([retain, value])
    }
    for (const records of got.values()) assert.deepEqual(records, [[true, 'newest'], [false, 'live']])
  })

test('[MQTT5-3.3.4-10] SUBACK waits for no acknowledgement of more newest records than the client takes at once', async (t) => {
  const guid = randomUUID()
  for (let i = 0; i < 5; i++) await post(guid, i)
  const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 2 } })
  const properties = { userProperties: { last: '5' } }
  assert.deepEqual(await subscribeAtOnce(client, [{ topic: `doc/${guid}`, qos: 1 }], properties), [1])
  for (let i = 0; i < 5; i++) {
    const { packet: { retain }, value } = await client.record()
    assert.deepEqual([retain, value], [true, i])
  }
})

test('[MQTT-3.8.4-3] a subscription that replaces one gets the newest record once more, also when those it had to wait for have come',
  async (t) => {
    const [guid, other] = [randomUUID(), randomUUID()]
    await post(guid, 'first')
    await post(other, 'newest')
    const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 1 } })
    for (const one of [guid, other]) assert.equal(await client.subscribe(`doc/${one}`, 1), 1)
    for (const expected of ['first', 'newest']) assert.equal((await client.record()).value, expected)
    await post(guid, 'fills')
    await waitFor(() => client.received.length === 1, { message: () => client.received.length })
    await post(other, 'behind')
    assert.equal(await client.subscribe(`doc/${other}`, 1), 1)
    assert.equal((await client.record()).value, 'fills')
    const got = []
    for (let i = 0; i < 2; i++) {
      const { packet: { retain }, value } = await client.record()
      got.push([retain, value])
    }
    assert.deepEqual(got.sort(), [[false, 'behind'], [true, 'behind']])
  })

test('a document at QoS 0 with records does not wait for acknowledgements of others', async (t) => {
  const [guid, other] = [randomUUID(), randomUUID()]
  for (const one of [guid, other]) await post(one, 'newest')
  const client = await mqttClient(t, port, { ...V5, properties: { receiveMaximum: 1 } })
  assert.equal(await client.subscribe(`doc/${guid}`, 1), 1)
  assert.equal(await client.subscribe(`doc/${other}`, 0), 0)
  await post(other, 'live')
  await waitFor(() => client.received.length === 3, { message: () => client.received.length })
  assert.deepEqual(client.received.map(({ qos, retain }) => [qos, retain]), [[1, true], [0, true], [0, false]])
})
