import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} ScriptedClient
 */

/** @param {ScriptedCluster} cluster */
const launcherOf = ({ cluster: { launchers: [launcher] } }) => launcher

/** Clients whose connections each worker has. @param {ScriptedCluster} cluster @param {ScriptedClient[]} pages */
const spread = (cluster, pages) =>
  cluster.gateways.map((slot) => pages.filter((page) => cluster.slotOf(page) === slot).length)

test('a reload replaces one process after the other, each by one that is ready before it drains', () =>
  inCluster({ workers: 2, launches: true }, async (cluster) => {
    const { slots } = cluster.cluster
    const pages = [await cluster.connect('ada'), await cluster.connect('bob')]
    const before = slots.map(({ running }) => running)
    /** Names of places, in the order in which they were replaced. @type {string[]} */
    const replaced = []
    launcherOf(cluster).reload()
    await cluster.until(() => {
      for (const [i, { name, running }] of slots.entries()) {
        assert.ok(running.isReady && running.process.isAlive, `${name} always serves`)
        if (running !== before[i] && !replaced.includes(name)) replaced.push(name)
      }
      return replaced.length === slots.length && before.every(({ process }) => !process.isAlive)
    })
    assert.deepEqual(replaced, slots.map(({ name }) => name))
    await cluster.until(() => pages.every((page) => page.connected))
  }))

test('a reload ends at a process that does not become ready, and the old one serves on', () =>
  inCluster({ workers: 2, launches: true }, async (cluster) => {
    const { slots } = cluster.cluster
    const page = await cluster.connect('ada')
    const before = slots.map(({ running }) => running)
    // the new process gets no answer of Redis, the others have what they need
    const [redis] = cluster.redis.servers
    cluster.world.network.block((a, b) => a.name.startsWith('m1/gateway-0.') && b === redis.process, 40_000)
    launcherOf(cluster).reload()
    await cluster.pass(60_000)
    assert.deepEqual(slots.map(({ running }) => running), before)
    assert.ok(before.every(({ process, isReady }) => process.isAlive && isReady))
    assert.deepEqual(page.ends, [])
    assert.equal([...cluster.world.processes].filter(({ name }) => name.startsWith('m1/gateway-0.')).length, 1)
  }))

test('a worker that does not answer for 10 s is killed and replaced, and its clients connect again', () =>
  inCluster({ workers: 2, launches: true }, async (cluster) => {
    const [hung] = cluster.gateways
    const { process } = hung.running
    const page = await cluster.connect('ada', { on: hung })
    process.pause(9000)
    await cluster.pass(9500)
    assert.equal(process.isAlive, true)
    const { time } = cluster
    process.pause(600_000)
    await cluster.until(() => !process.isAlive, { timeout: 12_000 })
    assert.ok(cluster.time - time > 9500, `killed after ${cluster.time - time} ms`)
    await cluster.until(() => page.ends.length === 1 && page.connected)
    await cluster.until(() => hung.running.process !== process && hung.running.isReady)
  }))

/**
 * Kills the processes of some places as soon as all of them serve, until their launcher has ended.
 * @param {ScriptedCluster} cluster
 * @param {ScriptedCluster['gateways']} slots
 * @param {number} times at most
 * @returns {Promise<number[]>} time from each kill until they serve again, ms
 */
async function killAgain (cluster, slots, times) {
  const { process: launcher } = launcherOf(cluster)
  /** @type {number[]} */
  const pauses = []
  while (launcher.isAlive && pauses.length < times) {
    const { time } = cluster
    const killed = slots.map(({ running: { process } }) => process)
    for (const slot of slots) cluster.kill(slot)
    await cluster.until(
      () => !launcher.isAlive || slots.every(({ running }, i) => running.process !== killed[i] && running.isReady),
      { timeout: 30_000 }
    )
    pauses.push(cluster.time - time)
  }
  return pauses
}

test('a process that ends again and again is started again later and later, as long as another one serves', () =>
  inCluster({ workers: 2, launches: true }, async (cluster) => {
    const [slot, other] = cluster.gateways
    const { process: launcher } = launcherOf(cluster)
    const page = await cluster.connect('ada', { on: other })
    const pauses = await killAgain(cluster, [slot], 20)
    assert.equal(launcher.isAlive, true, `ended after ${pauses.length}`)
    assert.ok(pauses[0] < 1000, `the first restart is immediate: ${pauses}`)
    for (const pause of pauses.slice(8)) assert.ok(pause > 4000 && pause < 12_000, `${pauses}`)
    assert.deepEqual(page.ends, [])
    await cluster.connect('bob', { on: slot })
  }))

test('if no gateway worker serves, one that ends again and again is given up at last, although the api is ready', () =>
  inCluster({ workers: 1, launches: true }, async (cluster) => {
    const launcher = launcherOf(cluster)
    const { process: first } = launcher
    const pauses = await killAgain(cluster, cluster.gateways, 30)
    assert.equal(pauses.length, 11)
    // systemd starts the launcher again, and that all of its processes
    await cluster.until(() => launcher.process !== first && cluster.cluster.isReady)
  }))

test('a cordoned machine gets no new client and keeps those it has, also in processes started meanwhile', () =>
  inCluster({ machines: 2, workers: 1, launches: true }, async (cluster) => {
    const [here, there] = cluster.gateways
    const page = await cluster.connect('ada', { on: here })
    launcherOf(cluster).cordon(true)
    await cluster.pass(1000)
    for (let i = 0; i < 8; i++) assert.equal(cluster.slotOf(await cluster.connect(`new-${i}`)), there)
    assert.deepEqual(page.ends, [])
    const cordoned = async () => (await cluster.act(here.running.process, async () =>
      /** @type {any} */ (here.running.status).notReady())).length > 0
    assert.equal(await cordoned(), true)
    cluster.kill(here)
    await cluster.until(() => here.running.process.isAlive && here.running.isReady)
    assert.equal(await cordoned(), true)
    launcherOf(cluster).cordon(false)
    await cluster.pass(1000)
    assert.equal(await cordoned(), false)
    await cluster.connect('eve', { on: here })
  }))

test('clients of one worker move to the others, which accept its new connections meanwhile', () =>
  inCluster({ workers: 3, launches: true }, async (cluster) => {
    /** @type {ScriptedClient[]} */
    const pages = []
    for (let i = 0; i < 12; i++) pages.push(await cluster.connect(`user-${i}`))
    const [from] = spread(cluster, pages)
    assert.ok(from > 0)
    launcherOf(cluster).move({ share: 1, rate: 20 }, 'gateway-0')
    await cluster.pass(4000)
    await cluster.until(() => pages.every((page) => page.connected))
    assert.equal(spread(cluster, pages)[0], 0)
    // and afterwards it accepts again
    await cluster.pass(15_000)
    await cluster.connect('late', { on: cluster.gateways[0] })
  }))
