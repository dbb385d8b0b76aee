import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import v8 from 'node:v8'
import { compareSnapshots, readSnapshot, sizesOf, totalOf } from '../../../bench/measure/heap-snapshot.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

class KeptForTheTest {}

test('objects are counted by constructor, other nodes by kind', () => {
  const sizes = sizesOf({
    snapshot: { meta: {
      node_fields: ['type', 'name', 'id', 'self_size'], node_types: [['object', 'string', 'closure', 'native'], 'string']
    } },
    strings: ['Room', 'a text', '', 'look', 'Node / Socket'],
    nodes: [0, 0, 1, 40, 0, 0, 3, 48, 1, 1, 5, 24, 2, 2, 7, 64, 2, 3, 9, 64, 3, 4, 11, 100]
  })
  assert.deepEqual(Object.fromEntries(sizes), {
    Room: { count: 2, bytes: 88 },
    '(string)': { count: 1, bytes: 24 },
    'anonymous()': { count: 1, bytes: 64 },
    'look()': { count: 1, bytes: 64 },
    'Node (native)': { count: 1, bytes: 100 }
  })
  assert.equal(totalOf(sizes), 340)
})

test('the difference of two snapshots: most bytes first, without the unchanged', () => {
  const size = (/** @type {number} */ count, /** @type {number} */ bytes) => ({ count, bytes })
  const difference = compareSnapshots(
    new Map([['Same', size(1, 10)], ['Gone', size(2, 20)], ['Room', size(1, 40)]]),
    new Map([['Same', size(1, 10)], ['Room', size(4, 160)], ['New', size(9, 9)]])
  )
  assert.deepEqual(difference.map(({ name, count, bytes }) => [name, count, bytes]), [
    ['Room', 3, 120], ['New', 9, 9], ['Gone', -2, -20]
  ])
})

test('reads what V8 writes', (t) => {
  const directory = makeDirectory('heap-snapshot')
  t.after(() => removeDirectory(directory))
  const kept = Array.from({ length: 123 }, () => new KeptForTheTest())
  const sizes = readSnapshot(v8.writeHeapSnapshot(path.join(directory, 'own.heapsnapshot')))
  assert.equal(sizes.get('KeptForTheTest')?.count, kept.length)
  assert.ok(totalOf(sizes) > 1e6)
})
