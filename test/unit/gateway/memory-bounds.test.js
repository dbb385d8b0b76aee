import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backlogs } from '../../../src/documents/delivery/backlogs.js'
import { memoryBounds } from '../../../src/gateway/memory-bounds.js'
import { manualClock } from '../../helpers/manual-clock.js'

const [KB, MB, GB] = [2 ** 10, 2 ** 20, 2 ** 30]

test('bounds of memory are parts of the heap, and no more than measured workers had', () => {
  assert.deepEqual(memoryBounds(4 * GB), {
    maxWaitingBytesTotal: 256 * MB, maxReplayBytes: 64 * MB, maxPendingReceipts: 100_000
  })
  assert.deepEqual(memoryBounds(2 * GB), memoryBounds(64 * GB))
  assert.deepEqual(memoryBounds(256 * MB), {
    maxWaitingBytesTotal: 32 * MB, maxReplayBytes: 8 * MB, maxPendingReceipts: 19_508
  })
  const own = memoryBounds()
  assert.ok(Object.values(own).every((bound) => Number.isInteger(bound) && bound > 0), JSON.stringify(own))
})

test('when the queues of all connections together are full, each one above 64 KB is full', () => {
  const backlogs = new Backlogs(
    { maxWaitingBytes: MB, maxWaitingBytesTotal: 400 * KB, maxRecordBytes: MB, slowTimeout: 60_000 },
    /** @type {any} */ ({ onCollect () {} }), manualClock()
  )
  const connections = [300, 70, 20].map((kilobytes) => {
    const transport = { name: 'websocket', writable: false }
    const conn = { readyState: 'open', writeBuffer: [], transport, bufferedAmount: kilobytes * KB, unsentBytes: () => 0 }
    return /** @type {any} */ ({ open: true, backlog: null, conn, documents: new Set() })
  })
  for (const connection of connections) connection.backlog = backlogs.open(connection)
  const admitted = () => connections.map(({ backlog }) => backlog?.admits({ publication: {}, meta: { offset: 1 } }))
  assert.deepEqual([backlogs.overfull, admitted()], [false, [true, true, true]])
  connections[2].conn.bufferedAmount = 40 * KB
  backlogs.look()
  assert.deepEqual([backlogs.overfull, admitted()], [true, [false, false, true]])
  // the client with the longest queue has left
  connections[0].conn.readyState = 'closed'
  backlogs.look()
  assert.deepEqual([backlogs.overfull, admitted().slice(1)], [false, [true, true]])
  for (const { conn } of connections) conn.readyState = 'closed'
  backlogs.look()
})
