import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentsOf, isInShare, planOf, processesFor, sourceOf, tierOf } from '../../../packages/load/plan.js'

const COUNT = 1000
/** @param {(index: number) => boolean} isMember */
const number = (isMember) => Array.from({ length: COUNT }, (_, i) => i).filter(isMember).length

test('a scenario sets options, and each one can be given in place of it', () => {
  const { everyone, receipts, churn, size } = planOf('churn', { churn: 2, size: undefined })
  assert.deepEqual({ everyone, receipts, churn, size }, { everyone: 5000, receipts: true, churn: 2, size: 500 })
  assert.equal(planOf('devices', { connections: 10 }).silent, 10)
})

test('options that contradict each other are refused', () => {
  for (const [given, message] of /** @type {[object, RegExp][]} */ ([
    [{ records: 5 }, /--records needs --documents/],
    [{ documents: 2, joins: 3 }, /cannot open 3 of 2/],
    [{ silent: 2000 }, /--silent/],
    [{ receipts: true }, /--receipts needs --everyone/],
    [{ tiers: [{ name: 'a', share: 60 }, { name: 'b', share: 50 }] }, /--tiers/],
    [{ churn: 101 }, /--churn/],
    [{ activity: 1 }, /--activity needs --documents/],
    [{ documents: 1, records: 5, burst: 257 }, /--burst is more than 256/]
  ])) assert.throws(() => planOf('hold', given), { name: 'RangeError', message })
})

test('shares of clients are exact, and spread', () => {
  for (const percent of [0, 1, 8.5, 30, 100]) {
    assert.equal(number((index) => isInShare(index, percent)), COUNT * percent / 100)
    assert.ok(Math.abs(number((index) => index < 100 && isInShare(index, percent)) - percent) <= 1)
  }
  const tiers = [{ name: 'gold', share: 5 }, { name: 'silver', share: 30 }]
  assert.equal(number((index) => tierOf(index, tiers) === 'gold'), 50)
  assert.equal(number((index) => tierOf(index, tiers) === 'silver'), 300)
  assert.equal(number((index) => tierOf(index, tiers) === undefined), 650)
})

test('members are spread evenly over the documents, each client in different ones', () => {
  const plan = planOf('documents', { documents: 10, joins: 3 })
  const members = new Map()
  for (let i = 0; i < 100; i++) {
    const documents = documentsOf(i, plan)
    assert.equal(new Set(documents).size, 3)
    for (const document of documents) members.set(document, (members.get(document) ?? 0) + 1)
  }
  assert.deepEqual([...members.values()], Array(10).fill(30))
  assert.deepEqual(documentsOf(1, planOf('hold', {})), [])
})

test('source addresses: enough ports for each, none for a target elsewhere unless they are given', () => {
  const used = new Map()
  for (let i = 0; i < 100_000; i++) {
    const source = sourceOf(i, [], true)
    used.set(source, (used.get(source) ?? 0) + 1)
  }
  assert.ok([...used.keys()].every((source) => /^127\.1\.\d+\.[1-4]$/.test(source)))
  assert.ok(Math.max(...used.values()) <= 20_000)
  assert.equal(sourceOf(0, [], false), undefined)
  assert.equal(sourceOf(1, ['10.0.0.1', '10.0.0.2'], false), '10.0.0.2')
})

test('client processes: at most 12,000 clients each, one per core if there are enough', () => {
  assert.equal(processesFor(10, 8), 1)
  assert.equal(processesFor(10_000, 2), 2)
  assert.equal(processesFor(100_000, 2), 9)
})
