import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRegistry } from '../../../src/bus/registry.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const clock = manualClock()
  /** What Redis has: name of the data, workers, those that register their users. @type {[string, number, number]} */
  const data = ['', 0, 0]
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
  data.splice(0, 3, 'first', 1, 0)
  await clock.pass(300)
  data.splice(0, 3, '', 0, 0)
  await assert.rejects(registry.assertComplete(), { code: 'unavailable' })
  data.splice(0, 3, 'second', 1, 0)
  await registry.assertComplete()
})

test('a process that knows workers looks every 5 s', async (t) => {
  const { clock, data, looks } = setUp(t)
  data.splice(0, 3, 'first', 1, 0)
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
