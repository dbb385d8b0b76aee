import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { TenantBudgets } from '../../src/people/tenants/budgets.js'
import { startPart } from '../simulation/script/part.js'

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/** Events per second that all workers together may handle. */
const EVENTS = 300
const CONNECTIONS = 60
const STEP = 10

/** @param {ScriptedCluster} cluster @param {number} number */
async function startWorker (cluster, number) {
  const part = await startPart(cluster, `worker-${number}`)
  const budgets = new TenantBudgets({
    ...part, metrics: createMetrics({ processMetrics: false }),
    settings: new Map([['acme', { connections: CONNECTIONS, events: EVENTS, publications: 100 }]])
  })
  const worker = {
    part, budgets, admitted: 0, refused: 0, connections: 0,
    /** Events per second. */
    demand: () => 0,
    /** @param {number} count @returns {Promise<void>} each is admitted or refused */
    async connect (count) {
      await part.act(() => Promise.all(Array.from({ length: count }, async () => {
        try {
          await budgets.connected('acme/ada')
          worker.connections++
        } catch (error) {
          assert.equal(/** @type {any} */ (error).code, 'too_many_connections')
        }
      })))
    }
  }
  let due = 0
  await part.act(() => {
    budgets.start()
    part.clock.every(STEP, () => {
      for (due += worker.demand() * STEP / 1000; due >= 1; due--) {
        if (budgets.event('acme/ada')) worker.admitted++
        else worker.refused++
      }
    })
  })
  return worker
}

/** @typedef {Awaited<ReturnType<typeof startWorker>>} Worker */

/**
 * @param {ScriptedCluster} cluster
 * @param {Worker[]} workers
 * @param {number} seconds
 * @param {(at: number) => number[]} demand per second of each worker, at a time in s
 * @returns {Promise<{ admitted: number, refused: number }>} of all, in this time
 */
async function run (cluster, workers, seconds, demand) {
  const sum = () => workers.reduce((sum, { admitted, refused }) => [sum[0] + admitted, sum[1] + refused], [0, 0])
  const before = sum()
  const begun = cluster.world.time
  for (const [i, worker] of workers.entries()) worker.demand = () => demand((cluster.world.time - begun) / 1000)[i]
  await cluster.pass(seconds * 1000)
  const after = sum()
  return { admitted: after[0] - before[0], refused: after[1] - before[1] }
}

/** @param {number} found @param {number} wanted @param {string} what */
const assertNear = (found, wanted, what) =>
  assert.ok(Math.abs(found - wanted) <= wanted / 10, `${what}: ${found} and not ${wanted}`)

test('the events of a tenant are those of its budget within 10 %, wherever the demand goes, and also after a kill', () =>
  inCluster({ machines: 0 }, async (cluster) => {
    const workers = [await startWorker(cluster, 1), await startWorker(cluster, 2), await startWorker(cluster, 3)]
    // the burst of one second
    await run(cluster, workers, 3, () => [400, 400, 400])

    const even = await run(cluster, workers, 10, () => [400, 400, 400])
    assertNear(even.admitted, 10 * EVENTS, 'the same demand everywhere')
    const moves = (/** @type {number} */ at) => [0, 1, 2].map((i) => Math.floor(at / 3) % 3 === i ? 900 : 50)
    const moving = await run(cluster, workers, 30, moves)
    assertNear(moving.admitted, 30 * EVENTS, 'a demand that moves')
    const one = await run(cluster, workers, 10, () => [2000, 0, 0])
    assertNear(one.admitted, 10 * EVENTS, 'all demand on one worker')
    await run(cluster, workers, 3, () => [60, 60, 60])
    const within = await run(cluster, workers, 20, (at) => [80, at % 2 < 1 ? 120 : 20, 70])
    assert.ok(within.refused <= (within.admitted + within.refused) / 100, `${within.refused} refused within the budget`)

    await run(cluster, workers, 3, () => [400, 400, 400])
    workers[2].part.process.end(null)
    const rest = workers.slice(0, 2)
    const after = await run(cluster, rest, 10, () => [400, 100])
    assertNear(after.admitted, 10 * EVENTS, 'after the kill of a worker')
  }))

test('connections of a tenant are never more than its budget, and those of a killed worker are free again', () =>
  inCluster({ machines: 0 }, async (cluster) => {
    const workers = [await startWorker(cluster, 1), await startWorker(cluster, 2), await startWorker(cluster, 3)]
    const all = (/** @type {Worker[]} */ some = workers) => some.reduce((sum, { connections }) => sum + connections, 0)
    // at the same time
    let done = 0
    for (const worker of workers) worker.connect(50).then(() => { done++ })
    await cluster.until(() => done === 3)
    assert.equal(all(), CONNECTIONS)

    const [first, second, third] = workers
    await first.part.act(() => {
      for (; first.connections > 0; first.connections--) first.budgets.disconnected('acme/ada')
    })
    await cluster.pass(1000)
    await third.connect(100)
    assert.equal(all(), CONNECTIONS)

    third.part.process.end(null)
    await second.connect(100)
    assert.ok(all() <= CONNECTIONS, 'until the lease of the killed worker ends, its connections count')
    await cluster.pass(7000)
    await second.connect(100)
    assert.equal(all([first, second]), CONNECTIONS)

    await second.part.act(() => second.budgets.stop())
    await first.connect(100)
    assert.equal(first.connections, CONNECTIONS)
  }))

test('without clients of a tenant Redis is never called', () => inCluster({ machines: 0 }, async (cluster) => {
  const { part, budgets } = await startWorker(cluster, 1)
  let calls = 0
  const { spend } = part.redis.scripts
  part.redis.scripts.spend = (...args) => {
    calls++
    return spend(...args)
  }
  await part.act(() => {
    assert.equal(budgets.connected('ada'), undefined)
    assert.equal(budgets.event('ada'), true)
    for (let i = 0; i < 10_000; i++) assert.equal(budgets.connected(`tenant-${i}/ada`), undefined)
    budgets.disconnected('ada')
  })
  await cluster.pass(10_000)
  assert.equal(calls, 0)
}))
