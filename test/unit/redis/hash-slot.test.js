import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { groupBySlot, hashSlot, slotIn } from '../../../src/redis/hash-slot.js'

describe('hash slots of Redis Cluster', () => {
  test('items of one hash slot share a group, in order, up to the limit', () => {
    const items = ['a1', 'b1', 'a2', 'a3', 'b2', 'a4']
    const slotOf = (/** @type {string} */ item) => item.charCodeAt(0)
    assert.deepEqual(groupBySlot(items, slotOf), [['a1', 'a2', 'a3', 'a4'], ['b1', 'b2']])
    assert.deepEqual(groupBySlot(items, slotOf, 3), [['a1', 'a2', 'a3'], ['b1', 'b2'], ['a4']])
    assert.deepEqual(groupBySlot([], slotOf), [])
  })

  test('with a single Redis all keys may share a call', () => {
    assert.equal(slotIn({ isCluster: false }, 'a'), slotIn({ isCluster: false }, 'b'))
    assert.equal(slotIn({ isCluster: true }, 'a'), hashSlot('a'))
    assert.notEqual(slotIn({ isCluster: true }, 'a'), slotIn({ isCluster: true }, 'b'))
  })
})
