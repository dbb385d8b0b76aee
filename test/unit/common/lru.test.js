import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LruCache } from '../../../src/base/common/lru.js'

test('the least recently used entry is removed when the cache is full', () => {
  const cache = new LruCache(3)
  for (const key of ['a', 'b', 'c']) cache.set(key, key, 100)
  cache.get('a', 0)
  cache.set('d', 'd', 100)
  assert.deepEqual(['a', 'b', 'c', 'd'].map((key) => cache.get(key, 0)), ['a', undefined, 'c', 'd'])
  assert.equal(cache.size, 3)
})

test('setting a key again replaces its value and removes no other', () => {
  const cache = new LruCache(2)
  cache.set('a', 1, 100)
  cache.set('b', 2, 100)
  cache.set('b', 3, 100)
  assert.deepEqual([cache.get('a', 0), cache.get('b', 0)], [1, 3])
})

test('an entry is missing from the moment it expires', () => {
  const cache = new LruCache(2)
  cache.set('a', 1, 100)
  assert.equal(cache.get('a', 99), 1)
  assert.equal(cache.get('a', 100), undefined)
  assert.equal(cache.size, 0)
})
