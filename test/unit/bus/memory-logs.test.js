import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createMemoryLogs } from '../../../src/bus/memory-logs.js'
import { entry } from '../../contract/bus-fixture.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @param {Partial<Parameters<typeof createMemoryLogs>[0]>} [settings] */
function setUp (settings) {
  const clock = manualClock()
  return { clock, logs: createMemoryLogs({ history: { size: 3, ttl: 10 }, clock, ...settings }) }
}

describe('logs in memory', () => {
  test('keep records up to their limit', () => {
    const { logs } = setUp()
    const start = logs.open('a')
    for (let i = 0; i < 5; i++) logs.append('a', entry('a', i))
    assert.equal(logs.read('a', { ...start, offset: 1 }, 10).gap, 'trimmed')
    assert.deepEqual(logs.read('a', { ...start, offset: 2 }, 10).records.map(({ offset }) => offset), [3, 4, 5])
    assert.equal(logs.bytes, 3)
  })

  test('free expired records, by the sweep and on access', () => {
    const { clock, logs } = setUp()
    const start = logs.open('a')
    logs.append('a', entry('a', 1))
    logs.append('b', entry('b', 1))
    clock.advance(9_999)
    logs.sweep()
    assert.equal(logs.bytes, 2)
    clock.advance(1)
    assert.deepEqual(logs.read('a', start, 10), { position: { ...start, offset: 1 }, records: [], gap: 'trimmed' })
    assert.equal(logs.bytes, 1)
    logs.sweep()
    assert.equal(logs.bytes, 0)
    assert.equal(logs.end('b')?.offset, 1)
  })

  test('a later record keeps earlier ones', () => {
    const { clock, logs } = setUp()
    const start = logs.open('a')
    logs.append('a', entry('a', 1))
    clock.advance(8_000)
    logs.append('a', entry('a', 2))
    clock.advance(8_000)
    assert.equal(logs.read('a', start, 10).records.length, 2)
  })

  test('forget the least recently used document when there are too many', () => {
    const { logs } = setUp({ maxDocuments: 3 })
    const epochs = ['a', 'b', 'c'].map((guid) => logs.open(guid).epoch)
    logs.append('a', entry('a', 1))
    logs.open('b')
    logs.append('d', entry('d', 1))
    assert.equal(logs.documents, 3)
    const empty = logs.end('c')
    assert.equal(empty.offset, 0)
    assert.notEqual(empty.epoch, epochs[2])
    assert.deepEqual(logs.open('c'), empty)
    assert.equal(logs.end('a').offset, 0)
    assert.notEqual(logs.end('a').epoch, epochs[0])
    assert.equal(logs.bytes, 1)
  })

  test('never have an epoch twice in one document, however often it is forgotten', () => {
    const { logs } = setUp({ maxDocuments: 2 })
    /** @type {Record<string, Set<string>>} */
    const seen = { a: new Set(), b: new Set(), c: new Set(), d: new Set() }
    /** @type {Record<string, string>} */
    let known = {}
    for (let i = 0; i < 400; i++) {
      const guid = 'abcd'[(i * i + i) % 7 % 4]
      const { offset } = logs.end(guid)
      const { position: { epoch } } = logs.append(guid, entry(guid, i))
      if (offset > 0) assert.equal(epoch, known[guid])
      else assert.ok(!seen[guid].has(epoch), `${guid} ${i}`)
      seen[guid].add(epoch)
      known = { ...known, [guid]: epoch }
    }
    assert.ok(seen.a.size > 10)
  })

  test('stay within their size limit by dropping the least recently used documents', () => {
    const { logs } = setUp({ maxBytes: 100 })
    const value = Buffer.alloc(30)
    const start = logs.open('b')
    logs.append('a', entry('a', 1, { value }))
    logs.append('a', entry('a', 2, { value }))
    logs.append('b', entry('b', 1, { value }))
    assert.equal(logs.bytes, 90)
    logs.append('b', entry('b', 2, { value }))
    assert.equal(logs.bytes, 90)
    assert.equal(logs.read('b', start, 10).records.length, 2)
    const { position } = logs.read('a', { epoch: '', offset: 0 }, 1)
    assert.equal(logs.read('a', { ...position, offset: 0 }, 10).gap, 'trimmed')
    assert.equal(logs.read('a', { ...position, offset: 1 }, 10).records.length, 1)
    // a single record above the limit is not kept
    logs.append('c', entry('c', 1, { value: Buffer.alloc(101) }))
    assert.equal(logs.bytes, 0)
    assert.equal(logs.end('c')?.offset, 1)
  })
})
