import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { TalliedCounter } from '../../../src/observe/metrics/tallied-counter.js'

/** @param {string[]} labelNames */
function counterWith (labelNames) {
  const registry = new Registry()
  const counter = new TalliedCounter({ name: 'events_total', help: 'Events.', labelNames, registers: [registry] })
  return { counter, registry, values: async () => (await counter.get()).values }
}

test('counts by labels are in every output, together with other increments', async () => {
  const { counter, registry, values } = counterWith(['event', 'result'])
  assert.deepEqual(await values(), [])
  counter.count('doc:join', 'ok')
  counter.count('doc:join', 'ok')
  counter.count('doc:join', 'forbidden')
  counter.inc({ event: 'doc:join', result: 'ok' }, 3)
  for (let look = 0; look < 2; look++) {
    assert.deepEqual(
      (await values()).map(({ labels, value }) => [labels, value]),
      [
        [{ event: 'doc:join', result: 'ok' }, 5],
        [{ event: 'doc:join', result: 'forbidden' }, 1]
      ]
    )
  }
  counter.count('doc:join', 'ok')
  assert.match(await registry.metrics(), /^events_total\{event="doc:join",result="ok"\} 6$/m)
})

test('one label is enough', async () => {
  const { counter, registry } = counterWith(['result'])
  counter.count('ok')
  assert.match(await registry.metrics(), /^events_total\{result="ok"\} 1$/m)
})

test('a counter without labels counts as usual', async () => {
  const { counter, values } = counterWith([])
  counter.inc()
  assert.deepEqual(await values(), [{ labels: {}, value: 1 }])
})
