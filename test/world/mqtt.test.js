import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqttPacket from 'mqtt-packet'
import WebSocket from 'ws'
import { URL, tokenOf } from '../simulation/parts/page.js'

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

const env = { LISTENERS: 'mqtt+ws:/mqtt' }
const MINUTE = 60_000
const protocolVersion = 5
let devices = 0

/** An MQTT client of version 5 that acknowledges what it gets, or not. */
class Device {
  /** @type {any[]} */
  received = []
  closed = false
  acknowledges = true

  /** @param {ScriptedCluster} cluster @param {string} uid @param {object} [more] fields of CONNECT */
  constructor (cluster, uid, more) {
    this.cluster = cluster
    this.process = cluster.outside(`mqtt-${++devices}`)
    this.process.enter('open', () => {
      const parser = mqttPacket.parser({ protocolVersion }).on('packet', (packet) => this.#receive(packet))
      const ws = this.ws = new WebSocket(`${URL.replace('http', 'ws')}/mqtt`, ['mqtt'])
      ws.on('open', () => this.#send({
        cmd: 'connect', protocolId: 'MQTT', protocolVersion, clean: false, clientId: 'sensor', keepalive: 0,
        username: uid, password: Buffer.from(tokenOf(uid)), properties: { sessionExpiryInterval: 3600 }, ...more
      }))
      ws.on('message', (data) => parser.parse(/** @type {Buffer} */ (data)))
      ws.on('error', () => {})
      ws.on('close', () => { this.closed = true })
    })
  }

  /** @param {any} packet in a turn of its process */
  #send (packet) { this.ws?.send(mqttPacket.generate(packet, { protocolVersion })) }

  /** @param {any} packet */
  #receive (packet) {
    this.received.push(packet)
    if (packet.cmd === 'publish' && packet.qos === 1 && this.acknowledges)
      this.#send({ cmd: 'puback', messageId: packet.messageId, reasonCode: 0 })
  }

  /** @param {string} cmd */
  of (cmd) { return this.received.filter((packet) => packet.cmd === cmd) }
  get values () { return this.of('publish').map(({ payload }) => JSON.parse(String(payload))) }
  get slot () { return this.cluster.slotOf(/** @type {any} */ (this)) }

  /** @param {any} packet */
  send (packet) { return this.cluster.act(this.process, () => this.#send(packet)) }

  end () { return this.cluster.act(this.process, () => this.ws?.terminate()) }

  /** @param {string} guid */
  async subscribe (guid) {
    await this.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `doc/${guid}`, qos: 1 }] })
    await this.cluster.until(() => this.of('suback').length > 0)
  }
}

/** @param {ScriptedCluster} cluster @param {string} uid @param {object} [more] */
async function connect (cluster, uid, more) {
  for (let tries = 0; tries < 100; tries++) {
    const device = new Device(cluster, uid, more)
    await cluster.until(() => device.of('connack').length > 0 || device.closed, { message: () => device.received })
    if (!device.closed) return device
  }
  throw new Error('no connection of 100 is accepted')
}

/** @param {number} from @param {number} to exclusive */
const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => from + i)

/**
 * @typedef {import('../simulation/parts/cluster.js').Slot} Slot
 * @type {[how: string, end: (slot: Slot, cluster: ScriptedCluster) => void][]}
 */
const ENDS = [['was killed', (slot, cluster) => cluster.kill(slot)], ['drained', ({ running }) => running.stop()]]

for (const [how, end] of ENDS) {
  test(`a session of MQTT continues on another worker after its own ${how}: nothing is lost, and order is kept`, () => inCluster(
    { workers: 2, env }, async (cluster) => {
      await cluster.takesOrders()
      const first = await connect(cluster, 'ada')
      await first.subscribe('board')
      for (const n of numbers(0, 20)) await cluster.publish('board', n)
      await cluster.until(() => first.values.length === 20)
      const slot = /** @type {Slot} */ (first.slot)
      end(slot, cluster)
      for (const n of numbers(20, 25)) await cluster.publish('board', n)
      await cluster.until(() => first.closed)
      const again = await connect(cluster, 'ada')
      assert.equal(again.of('connack')[0].sessionPresent, true)
      assert.notEqual(again.slot, slot)
      for (const n of numbers(25, 40)) await cluster.publish('board', n)
      await cluster.until(() => again.values.at(-1) === 39, { message: () => again.values })
      // the session was written up to 5 s before a kill: records of that time come again
      const values = [...first.values, ...again.values]
      assert.deepEqual(values.filter((value, i) => values.indexOf(value) === i), numbers(0, 40))
      assert.deepEqual(again.values, again.values.toSorted((one, other) => one - other))
      if (how === 'was killed') return
      for (const { payload, dup } of again.of('publish')) assert.equal(dup, first.values.includes(Number(payload)))
    }))
}

test('a client that acknowledges nothing for 15 minutes while records wait gets 0x97, and continues in a new connection', () => inCluster(
  { workers: 1, env: { ...env, HISTORY_TTL: '3600' } }, async (cluster) => {
    await cluster.takesOrders()
    const stuck = await connect(cluster, 'ada')
    stuck.acknowledges = false
    await stuck.subscribe('board')
    for (const n of numbers(0, 30)) await cluster.publish('board', n)
    const pings = async (/** @type {number} */ minutes) => {
      for (let i = 0; i < minutes && !stuck.closed; i++) {
        await stuck.send({ cmd: 'pingreq' })
        await cluster.pass(MINUTE)
      }
    }
    await pings(14)
    assert.deepEqual([stuck.closed, stuck.values], [false, numbers(0, 16)])
    await pings(2)
    assert.deepEqual([stuck.closed, stuck.of('disconnect').map(({ reasonCode }) => reasonCode)], [true, [0x97]])
    const again = await connect(cluster, 'ada')
    await cluster.until(() => again.values.length === 30, { message: () => [again.closed, again.received] })
    assert.deepEqual(again.values, numbers(0, 30))
  }))

test('[MQTT5-4.1.0-2] [MQTT5-3.1.2-23] a session ends when its expiry has passed since the end of its connection', () => inCluster(
  { workers: 1, env }, async (cluster) => {
    await cluster.takesOrders()
    const properties = { sessionExpiryInterval: 120 }
    const present = async () => {
      const device = await connect(cluster, 'ada', { properties })
      await device.subscribe('board')
      await device.end()
      await cluster.until(() => device.closed)
      return device.of('connack')[0].sessionPresent
    }
    const seen = [await present()]
    for (const minutes of [1, 3]) {
      await cluster.pass(minutes * MINUTE)
      seen.push(await present())
    }
    assert.deepEqual(seen, [false, true, false])
  }))

test('a device that gets none of a document\'s records for long misses none of the later ones after a takeover', () => inCluster(
  { workers: 2, env: { ...env, HISTORY_SIZE: '40' } }, async (cluster) => {
    await cluster.takesOrders()
    const first = await connect(cluster, 'ada')
    await first.subscribe('board')
    await cluster.publish('board', 'for all')
    await cluster.until(() => first.values.length === 1)
    // longer than the interval at which sessions are written
    await cluster.pass(6000)
    for (const n of numbers(0, 45)) await cluster.publish('board', n, { 'x-except': 'sensor' })
    await cluster.pass(6000)
    first.acknowledges = false
    for (const n of numbers(45, 50)) await cluster.publish('board', n)
    const again = await connect(cluster, 'ada')
    await cluster.until(() => first.closed)
    await cluster.publish('board', 'last')
    await cluster.until(() => again.values.at(-1) === 'last', { message: () => again.received })
    assert.deepEqual(again.values, [...numbers(45, 50), 'last'])
  }))

test('a document that a service has opened on a device is open after a takeover, and one that it has closed is not', () => inCluster(
  { workers: 2, env }, async (cluster) => {
    await cluster.takesOrders()
    const first = await connect(cluster, 'ada')
    // longer than the interval at which sessions are written, here and below
    await cluster.pass(6000)
    const opened = await cluster.request('POST', '/v1/users/ada/documents/board')
    await cluster.pass(6000)
    const second = await connect(cluster, 'ada')
    await cluster.until(() => first.closed)
    await cluster.publish('board', 'opened')
    await cluster.until(() => second.values.length > 0, { message: () => [opened, second.received] })
    await cluster.pass(6000)
    await cluster.request('DELETE', '/v1/users/ada/documents/board')
    await cluster.pass(6000)
    const third = await connect(cluster, 'ada')
    await cluster.until(() => second.closed)
    await cluster.publish('board', 'closed')
    await cluster.pass(6000)
    assert.deepEqual([second.values, third.values], [['opened'], []])
  }))
