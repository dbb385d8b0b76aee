import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DocumentChecker } from '../../simulation/oracle/document-checker.js'

/** @returns {{ checker: DocumentChecker, found: string[] }} */
function create () {
  /** @type {string[]} */
  const found = []
  return { checker: new DocumentChecker('page', (sentence) => found.push(sentence), () => false, () => []), found }
}

test('a page that was cut off before the answer to its first join loads its document at the next one', () => {
  const { checker, found } = create()
  checker.connected()
  checker.shown('service', 2, 2)
  checker.connected()
  checker.joined({ epoch: 'a', offset: 8 })
  checker.shown('service', 9, 9)
  assert.deepEqual(found, [])
})

test('a page that had its answer misses each record in between', () => {
  const { checker, found } = create()
  checker.connected()
  checker.shown('service', 2, 2)
  checker.joined({ epoch: 'a', offset: 2 })
  checker.connected()
  checker.shown('service', 9, 9)
  assert.deepEqual(found, [
    'page: offset 9 after 2', 'page: record 9 of service after 2: lost in between'
  ])
})

test('a record comes once and in order, also one that Kafka has lost, unless Redis may have lost the keys of requests', () => {
  for (const mayComeAgain of [false, true]) {
    /** @type {string[]} */
    const found = []
    const checker = new DocumentChecker('page', (sentence) => found.push(sentence), () => false, () => [], () => true, () => mayComeAgain)
    checker.joined({ epoch: 'a', offset: 0 })
    for (const [offset, number] of [1, 2, 2, 1].entries()) checker.shown('service', number, offset + 1)
    assert.deepEqual(found, mayComeAgain ? [] : ['page: record 2 of service twice', 'page: record 1 of service after 2'])
  }
})
