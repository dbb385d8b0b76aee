import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRegistry } from '../../../src/bus/registry.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const clock = manualClock()
  /**
   * What Redis has: name of the data, number of workers that register their users, all workers.
   * @type {[string, number, string[]]}
   */
  const data = ['', 0, []]
  let looks = 0
  const registry = createRegistry({
    redis: /** @type {any} */ ({ scripts: { registry: async () => { looks++; return [...data] } } }), clock
  })
  registry.start()
  t.after(() => registry.stop())
  return { clock, data, registry, looks: () => looks }
}

test('a process that starts before the first worker knows it soon, and so notices a loss of data right after', async (t) => {
  const { clock, data, registry } = setUp(t)
  await clock.pass(1000)
  data.splice(0, 3, 'first', 0, ['0', '1'])
  await clock.pass(300)
  data.splice(0, 3, '', 0, [])
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  data.splice(0, 3, 'second', 0, ['0', '1'])
  await registry.assertComplete()
})

test('a process that knows workers looks every 5 s', async (t) => {
  const { clock, data, looks } = setUp(t)
  data.splice(0, 3, 'first', 0, ['0', '1'])
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
    data.splice(0, 3, 'first', 0, ['0', '1'])
    await clock.pass(300)
    data.splice(0, 3, 'second', 0, others)
    await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
    data.splice(0, 3, 'second', 0, ['0', '1', ...others.filter((_, i) => others[i - i % 2] !== '0')])
    await registry.assertComplete()
  }
})

test('a worker that is missing after a loss of data is waited for as long as its lease may last', async (t) => {
  const { clock, data, registry } = setUp(t)
  data.splice(0, 3, 'first', 0, ['0', '1', '1', '1'])
  await clock.pass(300)
  data.splice(0, 3, 'second', 0, ['1', '1'])
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  await clock.pass(12_000)
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  await clock.pass(2000)
  await registry.assertComplete()
})
