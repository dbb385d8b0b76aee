import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentOf, documentsOf, guidOf, recordsOf } from '../../../bench/job.js'

const range = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i)

test('the records of all documents add up to the job', () => {
  const job = { base: 100, documents: 7, records: 24, perSecond: 0 }
  assert.deepEqual(range(9).map((i) => recordsOf(job, 99 + i)), [0, 4, 4, 4, 3, 3, 3, 3, 0])
})

for (const membership of [
  { base: 0, documents: 10_000, members: 1, clients: 10_000 },
  { base: 5, documents: 1, members: 10_000, clients: 10_000 },
  { base: 7, documents: 10, members: 10, clients: 2000 },
  { base: 7, documents: 1000, members: 10, clients: 2000 }
]) {
  test(`each of ${membership.documents} documents gets ${membership.members} of ${membership.clients} clients`, () => {
    const counts = new Map()
    for (const client of range(membership.clients + 5))
      for (const document of documentsOf(membership, client)) counts.set(document, (counts.get(document) ?? 0) + 1)
    assert.deepEqual(
      [...counts.keys()].sort((a, b) => a - b),
      range(membership.documents).map((i) => membership.base + i)
    )
    assert.ok([...counts.values()].every((count) => count === membership.members))
  })
}

test('a document follows from its guid', () => assert.equal(documentOf(guidOf(712_345)), 712_345))
