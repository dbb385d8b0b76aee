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
