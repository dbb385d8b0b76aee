import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import WebSocket from 'ws'
import { URL, tokenOf } from '../simulation/parts/page.js'

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/world/sim-process.js').SimProcess} SimProcess
 */

let devices = 0
/** All claims are renewed within this time, ms: 5 minutes, and a cycle. */
const RENEWED = 330_000

/** A device of a plain WebSocket. */
class Device {
  /** @type {any[]} */
  received = []
  /** @type {number | undefined} */
  closed

  /** @param {ScriptedCluster} cluster @param {string} query */
  constructor (cluster, query) {
    this.cluster = cluster
    this.process = cluster.outside(`device-${++devices}`)
    this.process.enter('open', () => {
      const ws = new WebSocket(`${URL.replace('http', 'ws')}/websocket/handshake?${query}`, ['inkcast.json'])
      ws.on('message', (data) => this.received.push(JSON.parse(String(data))))
      ws.on('error', () => {})
      ws.on('close', (code) => { this.closed = code })
    })
  }

  get connected () { return this.received.some(({ event }) => event === 'gateway:connected') }
  get open () { return this.connected && this.closed === undefined }
  get codes () { return this.received.filter(({ event }) => event === 'gateway:disconnect').map(({ payload }) => payload.code) }
  get slot () { return this.cluster.slotOf(/** @type {any} */ (this)) }
}

/** @param {ScriptedCluster} cluster @param {string} query */
async function connect (cluster, query) {
  for (let tries = 0; tries < 100; tries++) {
    const device = new Device(cluster, query)
    await cluster.until(() => device.connected || device.closed !== undefined)
    if (device.open) return device
  }
  throw new Error('no connection of 100 is accepted')
}

/** @param {ScriptedCluster} cluster @param {string} query @param {any} slot of the worker that it reaches */
async function connectTo (cluster, query, slot) {
  let device = await connect(cluster, query)
  for (let tries = 0; device.slot !== slot && tries < 20; tries++) device = await connect(cluster, query)
  assert.equal(device.slot, slot)
  return device
}

/**
 * The device connects to the same worker, which is cut off from Redis and then killed: its claim arrives after its end.
 * @param {ScriptedCluster} cluster @param {string} query @param {Device} first
 */
async function claimLate (cluster, query, first) {
  const { slot } = /** @type {any} */ (first)
  cluster.cutOff(slot.running.process, 'redis', 5000)
  const device = await connectTo(cluster, query, slot)
  cluster.kill(slot)
  await cluster.until(() => device.closed !== undefined)
}

const env = { LISTENERS: 'ws:/websocket/handshake' }

test('a device has one connection over the cluster: the latest, also of many at once, after an outage of Redis, and after its worker died',
  () => inCluster({ machines: 2, workers: 2, env }, async (cluster) => {
    await cluster.takesOrders()
    const mine = `id=board&token=${tokenOf('ada')}`
    const bob = await connect(cluster, `id=board&token=${tokenOf('bob')}`)
    let device = await connect(cluster, mine)
    const moves = new Set()
    for (let i = 0; i < 8; i++) {
      const [before, { slot }] = [device, device]
      device = await connect(cluster, mine)
      moves.add(device.slot === slot)
      await cluster.until(() => before.closed !== undefined)
      assert.deepEqual([before.codes, before.closed], [['replaced'], 1008])
    }
    assert.ok(moves.has(false), 'to another worker')

    for (let round = 0; round < 10; round++) {
      const all = [device, ...Array.from({ length: 5 }, () => new Device(cluster, mine))]
      await cluster.until(() => all.every(({ connected }) => connected) && all.filter(({ open }) => open).length === 1)
      await cluster.pass(3000)
      const open = all.filter(({ open }) => open)
      assert.equal(open.length, 1, `round ${round}`)
      for (const { codes } of all) assert.ok(codes.length <= 1)
      ;[device] = open
    }

    const before = device
    cluster.cutOff(/** @type {any} */ (device.slot).running.process, 'redis', 5000)
    device = await connect(cluster, mine)
    await cluster.until(() => before.closed !== undefined)
    assert.deepEqual([before.codes, device.open, bob.open], [['replaced'], true, true])

    // after the outage; the next test is about a kill within it
    await cluster.pass(5000)
    cluster.kill(/** @type {any} */ (device.slot))
    await cluster.until(() => device.closed !== undefined)
    device = await connect(cluster, mine)
    await cluster.pass(15_000)
    assert.equal(device.open, true)
    const after = await connect(cluster, mine)
    await cluster.until(() => device.closed !== undefined)
    assert.deepEqual([device.codes, after.open], [['replaced'], true])
  }))

test('a claim that arrives after its worker was killed ends no connection, and the next connection replaces all',
  () => inCluster({ machines: 2, workers: 2, env }, async (cluster) => {
    await cluster.takesOrders()
    const mine = `id=board&token=${tokenOf('ada')}`
    await claimLate(cluster, mine, await connect(cluster, mine))
    const next = await connect(cluster, mine)
    await cluster.pass(15_000)
    const last = await connect(cluster, mine)
    await cluster.until(() => next.closed !== undefined)
    assert.deepEqual([next.codes, last.open], [['replaced'], true])

    // the same, but no connection comes: the one that is there claims its device again
    await claimLate(cluster, mine, last)
    const only = await connect(cluster, mine)
    await cluster.pass(2 * RENEWED)
    assert.deepEqual([only.codes, only.open], [[], true])
    const after = await connect(cluster, mine)
    await cluster.until(() => only.closed !== undefined)
    assert.deepEqual([only.codes, after.open], [['replaced'], true])
  }))

test('a connection keeps its device if Redis has lost all data and its clock was set back: the later one of two, as their workers say',
  () => inCluster({ machines: 2, workers: 2, env }, async (cluster) => {
    await cluster.takesOrders()
    const mine = `id=board&token=${tokenOf('ada')}`
    const before = await connect(cluster, mine)
    await cluster.pass(5000)
    cluster.redis.servers[0].setClock(-46_000)
    // its worker notices the loss later than the worker of the next connection
    cluster.cutOff(/** @type {any} */ (before.slot).running.process, 'redis', 3000)
    await cluster.command('FLUSHALL')
    let next = await connect(cluster, mine)
    for (let tries = 0; next.slot === before.slot && tries < 20; tries++) next = await connect(cluster, mine)
    assert.notEqual(next.slot, before.slot)
    await cluster.until(() => before.closed !== undefined)
    await cluster.pass(RENEWED)
    assert.deepEqual([next.codes, next.open], [[], true])
  }))

test('a device without a token is the user of its id: a new connection replaces the old one', () => inCluster(
  { env: { ...env, AUTH_ALLOW_ANONYMOUS: 'true' } }, async (cluster) => {
    await cluster.takesOrders()
    const old = await connect(cluster, 'id=01')
    const other = await connect(cluster, 'id=02')
    const device = await connect(cluster, 'id=01')
    await cluster.until(() => old.closed !== undefined)
    assert.deepEqual([old.codes, device.open, other.open], [['replaced'], true, true])
    assert.equal(device.received[0].payload.uid, 'anonymous:device:01')
  }
))
