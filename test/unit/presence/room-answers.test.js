import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createKeys } from '../../../src/redis/keys.js'
import { setUpRooms as setUp, uidsJoined, uidsOf } from '../../helpers/presence-rooms.js'

const { documentPresence } = createKeys()

describe('a room with an answer that is newer than its last diff', () => {
  test('sends nothing older: it waits for the diffs that the answer has, and sends one message', async (t) => {
    const { one, two, pass, replies } = await setUp(t)
    const { told } = two.join('watcher')
    await pass(1000)
    await pass(10_000)
    told.length = 0
    one.join('first')
    one.room.work(20_000)
    await replies()
    const { version } = two.room
    two.control.late = []
    one.join('second')
    one.room.work(30_000)
    await replies()
    assert.equal((await two.room.page()).version, version + 1)
    await pass(500)
    assert.deepEqual(told, [])
    for (const diff of two.control.late) two.room.receive(diff)
    await pass()
    assert.deepEqual(told.map(({ from, version }) => [from, version]), [[version - 1, version + 1]])
    assert.deepEqual(uidsJoined(told), ['first', 'second'])
    assert.deepEqual([two.room.quiet, two.room.isAt(version + 1)], [false, true])
    await pass(2000)
    assert.ok(two.room.quiet)
  })

  test('a diff that an answer has, and that does not come in time, is replaced by the list', async (t) => {
    const { one, two, pass, replies } = await setUp(t)
    const { told } = two.join('watcher')
    await pass(1000)
    await pass(10_000)
    told.length = 0
    one.join('first')
    one.room.work(20_000)
    await replies()
    two.control.deaf = true
    one.join('second')
    one.room.work(30_000)
    await replies()
    await two.room.page()
    await pass(500)
    assert.deepEqual(told, [])
    await pass(600)
    await pass(2000)
    assert.deepEqual(told.map(({ members }) => uidsOf(members)), [['first', 'second', 'watcher']])
    assert.ok(two.room.quiet)
  })

  test('a quiet room whose members have an answer that the store has lost differs from the store', async (t) => {
    const { one, two, pass, redis } = await setUp(t)
    one.join('ada')
    const { told } = two.join('watcher')
    await pass(1000)
    await pass(10_000)
    const { version } = two.room
    two.control.deaf = true
    const [, , meta] = documentPresence('doc')
    await redis.client.hincrby(meta, 'v', 1)
    assert.equal((await two.room.page()).version, version + 1)
    await redis.client.hincrby(meta, 'v', -1)
    await pass(2000)
    assert.deepEqual([two.room.quiet, two.room.isAt(version), two.room.isAt(version + 1)], [true, false, false])
    told.length = 0
    two.room.lose('silent')
    await pass()
    assert.deepEqual(told.map(({ version, members }) => [version, uidsOf(members)]), [[version, ['ada', 'watcher']]])
    await pass(2000)
    assert.ok(two.room.isAt(version))
  })

  test('a loss that is noticed while the list is read is followed by another list', async (t) => {
    const { one, two, pass, replies, redis } = await setUp(t)
    const { told } = two.join('watcher')
    await pass(1000)
    await pass(10_000)
    await redis.client.flushall()
    told.length = 0
    let answer = () => {}
    two.control.held = new Promise((resolve) => { answer = resolve })
    two.room.lose('silent')
    two.room.work(20_000)
    await replies()
    two.room.lose('gap')
    one.join('ada')
    one.room.work(20_000)
    await replies()
    answer()
    await pass(10_000)
    await pass(10_000)
    assert.deepEqual([told[0].version, uidsOf(told[1].members)?.includes('ada')], [0, true])
  })
})
