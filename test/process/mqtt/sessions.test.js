import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { mqttClient } from '../../helpers/mqtt-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const LISTENER = 'mqtt://127.0.0.1:0'
const inkcast = await startEmbedded({ after }, { LISTENERS: LISTENER, AUTH_JWT_SECRET: SECRET })
const port = inkcast.gateway.port(LISTENER)
const post = (/** @type {string} */ guid, /** @type {unknown} */ value) => inkcast.post(`/v1/documents/${guid}/broadcast`, value)

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} uid
 * @param {Record<string, any>} [connect]
 */
const connect = async (t, uid, connect = {}) =>
  mqttClient(t, port, { clientId: 'device', clean: false, username: uid, password: await signToken({ sub: uid }), ...connect })
const V5 = { protocolVersion: 5, properties: { sessionExpiryInterval: 3600 } }
const gone = (/** @type {string} */ uid) => waitFor(() => !inkcast.gateway.directory.hasUser(uid))

describe('a session', () => {
  test('[MQTT-3.1.2-4] [MQTT-3.1.2-5] [MQTT-3.2.2-2] [MQTT-4.5.0-1] [MQTT5-3.1.2-5] [MQTT5-3.1.2-23] [MQTT5-3.2.2-3] [MQTT5-4.5.0-1] ' +
    'continues: its subscriptions are there, and what was missed comes once and in order', async (t) => {
    for (const [uid, version] of /** @type {[string, any][]} */ ([['four', {}], ['five', V5]])) {
      const [guid, other] = [randomUUID(), randomUUID()]
      const first = await connect(t, uid, version)
      assert.equal(first.connack.sessionPresent, false)
      await first.subscribe(`doc/${guid}`, 1)
      await first.subscribe(`doc/${other}`, 0)
      await post(guid, 'before')
      assert.equal((await first.record()).value, 'before')
      first.socket.destroy()
      await gone(uid)
      for (let i = 0; i < 40; i++) await post(guid, i)
      await post(other, 'not kept')
      const again = await connect(t, uid, version)
      assert.equal(again.connack.sessionPresent, true)
      for (let i = 0; i < 40; i++) {
        const { packet, value } = await again.record()
        assert.deepEqual([packet.topic, value, packet.dup, packet.retain], [`doc/${guid}`, i, false, false])
      }
      await waitFor(async () => {
        await post(other, 'live')
        return again.received.length > 0
      })
    }
  })

  test('that is not granted is none: version 5 says so in CONNACK, and version 3.1.1, which cannot, is refused', async (t) => {
    const first = await connect(t, 'spent', { clientId: 'first' })
    const budget = inkcast.gateway.users.budgetOf('spent')
    assert.throws(() => { for (;;) budget.beginsSending(performance.now()) }, { code: 'rate_limited' })
    const five = await connect(t, 'spent', { ...V5, clientId: 'five' })
    assert.deepEqual([five.connack.reasonCode, five.connack.properties.sessionExpiryInterval], [0, 0])
    const four = await connect(t, 'spent', { clientId: 'four' })
    assert.deepEqual([four.connack.returnCode, four.connack.sessionPresent], [3, false])
    await four.closed()
    const clean = await connect(t, 'spent', { clientId: 'clean', clean: true })
    assert.equal(clean.connack.returnCode, 0)
    for (const { socket } of [first, five, clean]) socket.destroy()
    await gone('spent')
  })

  test('[MQTT5-3.3.4-10] that continues with missed records delays no SUBACK', async (t) => {
    const guid = randomUUID()
    const narrow = { ...V5, properties: { ...V5.properties, receiveMaximum: 1 } }
    const first = await connect(t, 'narrow', narrow)
    await first.subscribe(`doc/${guid}`, 1)
    first.socket.destroy()
    await gone('narrow')
    for (let i = 0; i < 3; i++) await post(guid, i)
    const again = await connect(t, 'narrow', narrow)
    await waitFor(() => again.received.length === 1)
    assert.equal(await again.subscribe(`doc/${guid}`, 1), 1)
    assert.equal(await again.subscribe(`doc/${guid}/signal/x`), 0)
    /** @type {{ retained: number[], missed: number[] }} */
    const values = { retained: [], missed: [] }
    for (let i = 0; i < 4; i++) {
      const { packet: { retain }, value } = await again.record()
      values[retain ? 'retained' : 'missed'].push(value)
    }
    // the subscription that replaces one gets the newest record once more
    assert.deepEqual(values, { retained: [2], missed: [0, 1, 2] })
  })

  test('has all records since SUBACK, also of a document that waited for room when the connection ended', async (t) => {
    const guids = [randomUUID(), randomUUID()]
    const narrow = { ...V5, properties: { ...V5.properties, receiveMaximum: 1 } }
    for (const guid of guids) await post(guid, 'newest')
    const first = await connect(t, 'ended', narrow)
    first.send({ cmd: 'subscribe', messageId: 99, subscriptions: guids.map((guid) => ({ topic: `doc/${guid}`, qos: 1 })) })
    assert.deepEqual((await first.next('suback')).granted, [1, 1])
    for (const guid of guids) await post(guid, 'live')
    first.socket.destroy()
    await gone('ended')
    const again = await connect(t, 'ended', narrow)
    /** @type {Set<string>} */
    const live = new Set()
    while (live.size < 2) {
      const { packet: { topic }, value } = await again.record()
      if (value === 'live') live.add(topic)
    }
  })

  test('has any number of topics of a document, granted one after the other or at once', async (t) => {
    const guid = randomUUID()
    const topics = [`doc/${guid}`, ...Array.from({ length: 15 }, (_, i) => `doc/${guid}/signal/s${i}`)]
    const signaled = async (/** @type {any} */ client, /** @type {any} */ sender) => {
      await post(guid, 'record')
      assert.equal((await client.record()).value, 'record')
      await sender.publish(topics[15], 'signal')
      assert.deepEqual((await client.record()).value, 'signal')
    }
    const sender = await connect(t, 'sender')
    await sender.subscribe(topics[1])
    const first = await connect(t, 'many', V5)
    for (const topic of topics.toReversed()) await first.subscribe(topic, 1)
    first.socket.destroy()
    await gone('many')
    await post(guid, 'missed')
    const again = await connect(t, 'many', V5)
    assert.equal(again.connack.sessionPresent, true)
    assert.equal((await again.record()).value, 'missed')
    await signaled(again, sender)
    again.socket.destroy()
    await gone('many')
    const clean = await connect(t, 'many', { ...V5, clean: true })
    clean.send({ cmd: 'subscribe', messageId: 99, subscriptions: topics.map((topic) => ({ topic, qos: 1, rh: 2 })) })
    assert.deepEqual((await clean.next('suback')).granted, [1, ...Array(15).fill(0)])
    await signaled(clean, sender)
  })

  test('has a subscription that was granted, also if the connection is replaced at once', async (t) => {
    const guid = randomUUID()
    const first = await connect(t, 'replaced', V5)
    await first.subscribe(`doc/${guid}`, 1)
    const second = await connect(t, 'replaced', V5)
    assert.equal(second.connack.sessionPresent, true)
    await first.closed()
    await post(guid, 'to the second')
    assert.equal((await second.record()).value, 'to the second')
    const other = randomUUID()
    await second.subscribe(`doc/${other}`, 1)
    const third = await connect(t, 'replaced', V5)
    await second.closed()
    await post(other, 'to the third')
    assert.equal((await third.record()).value, 'to the third')
  })

  test('is not changed by a subscription that is refused for its number of newest records', async (t) => {
    const guid = randomUUID()
    const client = await connect(t, 'wrong', V5)
    const granted = (/** @type {string} */ last) => client.subscribe(`doc/${guid}`, 1, { properties: { userProperties: { last } } })
    assert.deepEqual([await granted('1001'), await granted('x'), await granted('1.5')], [0x8f, 0x8f, 0x8f])
    assert.deepEqual([await granted('1000'), await granted('1.5')], [1, 0x8f])
    await post(guid, 'still subscribed')
    assert.equal((await client.record()).value, 'still subscribed')
  })

  test('[MQTT-4.4.0-1] [MQTT-4.6.0-1] [MQTT-3.3.1-1] [MQTT5-4.4.0-1] [MQTT5-3.3.1-1] repeats what was not acknowledged, ' +
    'and only that, with ' +
    'DUP and its packet ids, which no other record gets', async (t) => {
    for (const [uid, version] of /** @type {[string, any][]} */ ([['repeats', {}], ['repeats five', V5]])) {
      const guid = randomUUID()
      const first = await connect(t, uid, version)
      await first.subscribe(`doc/${guid}`, 1)
      for (let i = 0; i < 6; i++) await post(guid, i)
      await waitFor(() => first.received.length === 6)
      const ids = first.received.map(({ messageId }) => messageId)
      // 0, 1 and 4 are acknowledged
      for (const i of [4, 0, 1]) first.send({ cmd: 'puback', messageId: ids[i], reasonCode: 0 })
      first.send({ cmd: 'pingreq' })
      await first.next('pingresp')
      first.socket.destroy()
      await gone(uid)
      for (let i = 6; i < 30; i++) await post(guid, i)
      // twice: the second time some are not even sent again
      const second = await connect(t, uid, version)
      await waitFor(() => second.received.length >= 3)
      assert.deepEqual(second.received.slice(0, 3).map(({ messageId }) => messageId), [2, 3, 5].map((i) => ids[i]))
      second.socket.destroy()
      await gone(uid)
      const third = await connect(t, uid, version)
      const got = []
      while (got.at(-1)?.value !== 29) got.push(await third.record())
      const repeated = got.filter(({ value }) => value < 6)
      assert.deepEqual(repeated.map(({ value, packet }) => [value, packet.dup, packet.messageId]),
        [2, 3, 5].map((value) => [value, true, ids[value]]))
      assert.deepEqual(got.map(({ value }) => value), [2, 3, ...Array.from({ length: 25 }, (_, i) => 5 + i)])
    }
  })

  test('continues without repeating a record as retained, if the client subscribes again at once', async (t) => {
    const guid = randomUUID()
    const first = await connect(t, 'eager', V5)
    await first.subscribe(`doc/${guid}`, 1)
    first.socket.destroy()
    await gone('eager')
    for (let i = 0; i < 5; i++) await post(guid, i)
    const again = await connect(t, 'eager', V5)
    again.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `doc/${guid}`, qos: 1, rh: 0 }] })
    for (let i = 0; i < 5; i++) {
      const { packet, value } = await again.record()
      assert.deepEqual([value, packet.retain], [i, false])
    }
    await again.next('suback')
    const { packet, value } = await again.record()
    assert.deepEqual([value, packet.retain], [4, true])
  })

  test('of a user\'s log continues as well', async (t) => {
    const first = await connect(t, 'log', V5)
    await first.subscribe('user', 1)
    const send = (/** @type {unknown} */ value) => inkcast.post('/v1/users/log/send', value, { 'x-keep': 'true' })
    await send(1)
    await first.record()
    first.socket.destroy()
    await gone('log')
    await send(2)
    assert.equal((await (await connect(t, 'log', V5)).record()).value, 2)
  })

  test('[MQTT-3.1.2-6] [MQTT5-3.1.2-4] [MQTT5-3.1.2-6] [MQTT-3.2.2-1] [MQTT-3.2.2-3] [MQTT5-3.2.2-2] ends with a clean start, with ' +
    'its expiry, and with DISCONNECT that says so', async (t) => {
    const has = async (/** @type {any} */ more) => {
      const client = await connect(t, 'ends', more)
      const { sessionPresent } = client.connack
      return { client, sessionPresent }
    }
    const end = async (/** @type {any} */ client, /** @type {any} */ properties) => {
      client.send({ cmd: 'disconnect', reasonCode: 0, properties })
      await client.closed()
      await gone('ends')
    }
    const first = await has(V5)
    await end(first.client, {})
    const clean = await has({ ...V5, clean: true })
    assert.equal(clean.sessionPresent, false)
    await end(clean.client, {})
    const third = await has(V5)
    assert.equal(third.sessionPresent, true)
    await end(third.client, {})
    const last = await has({ protocolVersion: 5 })
    assert.equal(last.sessionPresent, true)
    await end(last.client, {})
    const fourth = await has(V5)
    assert.equal(fourth.sessionPresent, false, 'the one before had no expiry')
    await end(fourth.client, {})
    const fifth = await has({ protocolVersion: 5 })
    assert.equal(fifth.sessionPresent, true)
    fifth.client.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 5 } }) // MQTT 5, 3.14.2.2.2
    assert.equal((await fifth.client.next('disconnect')).reasonCode, 0x82)
    await gone('ends')
    const sixth = await has(V5)
    assert.equal(sixth.sessionPresent, false)
    await end(sixth.client, { sessionExpiryInterval: 0 })
    const short = await has({ protocolVersion: 5 })
    assert.equal(short.sessionPresent, false)
    short.client.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 5 } }) // MQTT 5, 3.14.2.2.2
    assert.equal((await short.client.next('disconnect')).reasonCode, 0x82)
    await gone('ends')
    assert.equal((await has(V5)).sessionPresent, false)
  })

  test('[MQTT-3.1.3-2] [MQTT5-3.1.3-2] of another user with the same client id is another one; its rights are those of the new token' +
    '[MQTT-3.1.3-2] [MQTT5-3.1.3-2] of another user with the same client id is another one; its rights are ' +
    'those of the new token', async (t) => {
    const guid = randomUUID()
    const first = await connect(t, 'rights', V5)
    await first.subscribe(`doc/${guid}`, 1)
    first.socket.destroy()
    await gone('rights')
    assert.equal((await connect(t, 'stranger', V5)).connack.sessionPresent, false)
    await post(guid, 'secret')
    const password = await signToken({ sub: 'rights', documents: [{ guid: 'other', access: 'read' }] })
    const again = await connect(t, 'rights', { ...V5, password })
    assert.equal(again.connack.sessionPresent, true)
    const [connection] = inkcast.gateway.directory.user('rights')
    await waitFor(() => [.../** @type {any} */ (connection).subscriptions()].length === 0)
    assert.deepEqual(again.received, [])
  })
})
