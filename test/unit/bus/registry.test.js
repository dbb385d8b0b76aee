import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRegistry } from '../../../src/log/bus/registry.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { createKeys } from '../../../src/redis/keys.js'

/** @param {import('node:test').TestContext} t @param {object} [more] of the connection to Redis */
function setUp (t, more) {
  const clock = manualClock()
  /**
   * What Redis has: name of the data, number of workers that register their users, whether workers may be missing, all
   * workers.
   * @type {[string, number, 0 | 1, string[]]}
   */
  const data = ['', 0, 0, []]
  let looks = 0
  const registry = createRegistry({
    redis: /** @type {any} */ ({
      keys: createKeys(), scripts: { registry: async () => { looks++; return [...data] } }, ...more
    }),
    clock
  })
  registry.start()
  t.after(() => registry.stop())
  return { clock, data, registry, looks: () => looks }
}

test('a process that starts before the first worker knows it soon, and so notices a loss of data right after', async (t) => {
  const { clock, data, registry } = setUp(t)
  await clock.pass(1000)
  data.splice(0, 4, 'first', 0, 0, ['0', '1'])
  await clock.pass(300)
  data.splice(0, 4, '', 0, 0, [])
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  data.splice(0, 4, 'second', 0, 0, ['0', '1'])
  // another one, which had started a moment ago, may follow
  await clock.pass(3900)
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  await clock.pass(200)
  await registry.assertComplete()
})

test('a process that has just started does not trust data without a worker, or data that may lack workers', async (t) => {
  for (const states of /** @type {[string, number, 0 | 1, string[]][][]} */ ([
    [['', 0, 0, []]], [['first', 0, 1, ['0', '1']]], [['', 0, 0, []], ['first', 0, 1, ['0', '1']]]
  ])) {
    const { clock, data, registry } = setUp(t)
    for (const state of states) {
      data.splice(0, 4, ...state)
      await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
      await clock.pass(5000)
      await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
    }
    data[2] = 0
    // without a worker, as long as one of before may have a lease
    if (data[0] === '') await clock.pass(9000)
    await registry.assertComplete()
  }
})

test('a process that never knew complete data waits as long after the next loss', async (t) => {
  const { clock, data, registry } = setUp(t)
  data.splice(0, 4, 'first', 0, 1, ['0', '1'])
  await clock.pass(12_000)
  data.splice(0, 4, '', 0, 0, [])
  await clock.pass(2000)
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  data.splice(0, 4, 'second', 0, 1, ['0', '1'])
  await clock.pass(12_000)
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  data[2] = 0
  await registry.assertComplete()
})

test('a process that has just started trusts the store that it has itself, and data without doubt', async (t) => {
  await setUp(t, { isInProcess: true }).registry.assertComplete()
  const { data, registry } = setUp(t)
  data.splice(0, 4, 'first', 0, 0, ['0', '1'])
  await registry.assertComplete()
})

test('with Redis Cluster the node of a user must have the registrations of all workers that there are now', async (t) => {
  /** @type {any[]} */
  const asked = []
  let isWhole = true
  const { data, registry } = setUp(t, {
    isCluster: true, areRegistered: async (/** @type {any[]} */ ...args) => { asked.push(args); return isWhole }
  })
  data.splice(0, 4, 'first', 0, 0, ['0', '1'])
  await registry.assertComplete('user')
  data.splice(3, 1, ['0', '1', '1', '5'])
  await registry.assertComplete('user')
  assert.deepEqual(asked, [['user', [['0', '1']]], ['user', [['0', '1'], ['1', '5']]]])
  isWhole = false
  await assert.rejects(registry.assertComplete('user'), { code: 'unavailable' })
  await registry.assertComplete()
})

test('a process that knows workers looks every 5 s', async (t) => {
  const { clock, data, looks } = setUp(t)
  data.splice(0, 4, 'first', 0, 0, ['0', '1'])
  await clock.pass(300)
  const before = looks()
  await clock.pass(20_000)
  assert.equal(looks() - before, 4)
})

test('a process that is stopped looks no more', async (t) => {
  const { clock, registry, looks } = setUp(t)
  await clock.pass(1000)
  registry.stop()
  const before = looks()
  await clock.pass(20_000)
  assert.equal(looks(), before)
})

test('after a loss of data another worker, or another process with the number, does not stand for one that is missing', async (t) => {
  for (const others of [['1', '5'], ['0', '6'], ['0', '6', '1', '5', '2', '7']]) {
    const { clock, data, registry } = setUp(t)
    data.splice(0, 4, 'first', 0, 0, ['0', '1'])
    await clock.pass(300)
    data.splice(0, 4, 'second', 0, 0, others)
    await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
    data.splice(0, 4, 'second', 0, 0, ['0', '1', ...others.filter((_, i) => others[i - i % 2] !== '0')])
    await clock.pass(4100)
    await registry.assertComplete()
  }
})

test('a worker that is missing after a loss of data is waited for as long as its lease may last', async (t) => {
  const { clock, data, registry } = setUp(t)
  data.splice(0, 4, 'first', 0, 0, ['0', '1', '1', '1'])
  await clock.pass(300)
  data.splice(0, 4, 'second', 0, 0, ['1', '1'])
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  await clock.pass(12_000)
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  await clock.pass(2000)
  await registry.assertComplete()
})
