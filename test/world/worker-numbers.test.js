import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */
/** @typedef {import('../simulation/parts/cluster.js').Slot} Slot */

/** @param {ScriptedCluster} cluster @param {Slot[]} slots @returns {(number | undefined)[]} */
const numbersOf = (cluster, slots) => slots.map(({ running }) => running.composed?.workerNumber)

/** All processes of a machine end, and nothing starts them again. @param {Slot[]} slots @param {'stop' | 'kill'} how */
function end (slots, how) {
  for (const slot of slots) {
    slot.restarts = false
    if (how === 'stop') slot.running.stop()
    else slot.running.process.end(null)
  }
}

/** @param {ScriptedCluster} cluster @param {Slot[]} slots @returns {Promise<(number | undefined)[]>} */
async function start (cluster, slots) {
  for (const slot of slots) {
    slot.restarts = true
    slot.running = slot.start()
  }
  await cluster.until(() => slots.every(({ running }) => running.isReady))
  return numbersOf(cluster, slots)
}

test('workers keep their numbers when their machine is restarted, also while others start', () =>
  inCluster({ machines: 2 }, async (cluster) => {
    const [first, second] = cluster.cluster.machines.map(({ name }) =>
      cluster.gateways.filter((slot) => slot.name.startsWith(`${name}/`)))
    const numbers = numbersOf(cluster, first)
    const all = numbersOf(cluster, cluster.gateways)
    assert.equal(new Set(all).size, 4)
    end(cluster.gateways, 'stop')
    await cluster.until(() => cluster.gateways.every(({ running }) => !running.process.isAlive))
    // another machine in place of the second one
    cluster.cluster.machines[1].name = 'newcomer'
    const others = await start(cluster, second)
    assert.deepEqual(others.filter((number) => all.includes(number)), [])
    assert.deepEqual(await start(cluster, first), numbers)
  }))

test('workers keep their numbers when all processes of a machine are killed at once', () =>
  inCluster({}, async (cluster) => {
    const numbers = numbersOf(cluster, cluster.gateways)
    end(cluster.cluster.slots, 'kill')
    const begun = cluster.time
    // leases last 10 s: the new processes see that the old ones are dead
    assert.deepEqual(await start(cluster, cluster.gateways), numbers)
    assert.ok(cluster.time - begun < 5000, `${cluster.time - begun} ms`)
  }))
