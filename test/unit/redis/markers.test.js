import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../../src/redis/keys.js'
import { hashSlot } from '../../../src/redis/hash-slot.js'
import { createMarkers } from '../../../src/redis/markers.js'

/** Two nodes, of which each has the markers in its hash slots. */
function cluster () {
  const slots = Array.from({ length: 16_384 }, (_, slot) => [slot < 8192 ? 'one' : 'two'])
  /** @type {Record<string, Set<string>>} */
  const data = { one: new Set(), two: new Set() }
  const registered = async (/** @type {string[]} */ [key], /** @type {string[]} */ [wasThere]) => {
    const node = data[slots[hashSlot(key)][0]]
    const isLost = wasThere === '1' && !node.has(key)
    node.add(key)
    return isLost ? 1 : 0
  }
  const markers = createMarkers(/** @type {any} */ ({
    client: { nodes: () => ['one', 'two'], slots }, keys: createKeys(), scripts: { registered }
  }))
  return { slots, data, look: () => markers.look([0, 1], true) }
}

test('a node that loses its data is noticed, also while it gets a hash slot before its first one', async () => {
  const { slots, data, look } = cluster()
  assert.deepEqual([await look(), await look()], [false, false])
  data.two.clear()
  assert.deepEqual([await look(), await look()], [true, false])
  slots[5671] = ['two']
  data.two.clear()
  assert.deepEqual([await look(), await look()], [true, false])
})

test('a hash slot that moves is no loss', async () => {
  const { slots, look } = cluster()
  await look()
  slots[5671] = ['two']
  assert.deepEqual([await look(), await look()], [false, false])
})
