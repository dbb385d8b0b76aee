import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createKeys } from '../../../src/redis/keys.js'
import { setUpRooms as setUp, uidsJoined, uidsOf } from '../../helpers/presence-rooms.js'

const { documentPresence } = createKeys()

describe('a room', () => {
  test('writes the changes of a cycle at once, and publishes them in one message', async (t) => {
    const { one, two, pass } = await setUp(t)
    const watcher = two.join('watcher')
    await pass()
    for (let i = 0; i < 50; i++) one.join(`user-${i}`)
    await pass()
    assert.deepEqual(one.control.updates.map((ops) => ops.length), [50])
    await pass(100)
    assert.equal(watcher.told.length, 1)
    assert.equal(uidsJoined(watcher.told).length, 50)
    for (let i = 0; i < 50; i++) {
      one.join(`more-${i}`)
      await pass(1)
    }
    await pass(1000)
    await pass(1000)
    assert.ok(one.control.updates.length <= 5, `${one.control.updates.length} writes`)
    assert.ok(watcher.told.length <= 6, `${watcher.told.length} messages`)
    assert.equal(uidsJoined(watcher.told).length, 100)
    for (let i = 1; i < watcher.told.length; i++) assert.equal(watcher.told[i].from, watcher.told[i - 1].version)
  })

  test('is quiet without changes', async (t) => {
    const { one, pass } = await setUp(t)
    one.join('ada')
    assert.equal(one.room.quiet, false)
    await pass()
    await pass(10_000)
    assert.equal(one.room.quiet, true)
  })

  test('a member that joins and leaves before it was written causes no event', async (t) => {
    const { one, two, pass } = await setUp(t)
    const watcher = two.join('watcher')
    await pass(1000)
    const { membership } = one.join('ada')
    one.room.leave(membership, '-')
    await pass(1000)
    assert.deepEqual([one.control.updates, watcher.told], [[], []])
    assert.equal(one.room.unused, false)
    await pass(10_000)
    assert.equal(one.room.unused, true)
  })

  test('a member that leaves before it was written is no longer waited for, but others are', async (t) => {
    const { one, pass } = await setUp(t)
    one.join('first')
    await pass()
    /** @type {string[]} */
    const settled = []
    const wait = (/** @type {ReturnType<typeof one.join>} */ { membership }) => {
      one.room.written(membership).then(() => settled.push(membership.uid))
    }
    const goer = one.join('goer')
    wait(goer)
    wait(one.join('stays'))
    one.room.leave(goer.membership, '-')
    await turn()
    assert.deepEqual(settled, ['goer'])
    await pass(1000)
    assert.deepEqual(settled, ['goer', 'stays'])
    const last = one.join('last')
    wait(last)
    one.room.leave(last.membership, '-')
    await pass(1000)
    assert.deepEqual(settled, ['goer', 'stays', 'last'])
  })

  test('reads the list and publishes it when a diff is missing', async (t) => {
    const { one, two, pass } = await setUp(t)
    const watcher = two.join('watcher')
    await pass(1000)
    two.control.deaf = true
    one.join('lost')
    await pass(1000)
    two.control.deaf = false
    assert.equal(watcher.told.length, 0)
    one.join('next')
    await pass(1000)
    await pass(1000)
    assert.deepEqual(watcher.told.map(({ members }) => uidsOf(members)), [['lost', 'next', 'watcher']])
    assert.equal(
      (await two.metrics.presence_repairs.get()).values.find(({ labels }) => labels.reason === 'gap')?.value,
      1
    )
  })

  test('changes that come while the list is read follow it', async (t) => {
    const { one, two, pass, replies } = await setUp(t)
    const { told } = two.join('watcher')
    await pass(1000)
    await pass(1000)
    let answer = () => {}
    two.control.held = new Promise((resolve) => { answer = resolve })
    two.room.lose('interrupted')
    two.room.work(10_000)
    await replies()
    one.join('next')
    one.room.work(10_000)
    await replies()
    answer()
    await replies()
    assert.equal(two.room.version, one.room.version)
    await pass(10_000)
    assert.equal(told.at(-1).count, 2)
  })

  test('sends the list to all when the store has an older one than they have', async (t) => {
    const { one, two, pass, redis } = await setUp(t)
    one.join('ada')
    const { told } = two.join('watcher')
    await pass(1000)
    one.join('bob')
    await pass(1000)
    await pass(10_000)
    const [, , meta] = documentPresence('doc')
    await redis.client.hset(meta, 'v', told.at(-1).version - 1)
    told.length = 0
    await two.room.page()
    await pass(1000)
    assert.deepEqual(uidsOf(told[0]?.members), ['ada', 'bob', 'watcher'])
  })

  test('changes after a loss are in the next list only: Redis may have given their versions to others before', async (t) => {
    const { one, two, pass, replies, redis } = await setUp(t)
    one.join('ada')
    const { told } = two.join('watcher')
    await pass(1000)
    await pass(1000)
    const [, , meta] = documentPresence('doc')
    const version = Number(await redis.client.hget(meta, 'v'))
    // Redis comes back without its last two writes, and gets others
    await redis.client.hset(meta, 'v', version - 2)
    two.room.lose('interrupted')
    // it is not read at once
    two.gate.open = false
    told.length = 0
    for (const uid of ['bob', 'cyd', 'dan']) {
      one.join(uid)
      for (const { room } of [one, two]) room.work(10_000)
      await replies()
    }
    await pass(1000)
    assert.equal(told.length, 0)
    two.gate.open = true
    await pass(1000)
    await pass(1000)
    assert.deepEqual(uidsOf(told[0].members)?.slice(0, 2), ['ada', 'bob'], JSON.stringify(told))
    const shown = new Set(uidsOf(told[0].members))
    for (const uid of uidsJoined(told)) shown.add(uid)
    assert.equal(shown.size, told.at(-1)?.count)
  })

  test('a list that is read once more, without a loss, hides no change from members', async (t) => {
    const { one, two, pass, replies } = await setUp(t)
    one.join('watcher')
    await pass(1000)
    const { told } = two.join('first')
    two.room.work(0)
    // it comes while the list is being read, which is read again for it
    two.join('second')
    await replies()
    let { version } = two.room
    assert.ok(version > 0)
    // a change of another worker that is not sent yet
    one.join('other')
    one.room.work(2000)
    await replies()
    await pass(1000)
    one.join('later')
    await pass(1000)
    await pass(1000)
    assert.ok(two.control.pages >= 2, `${two.control.pages} pages`)
    for (const message of told) {
      assert.ok(message.from <= version, `from ${message.from}, and it has ${version}`)
      version = message.version
    }
    assert.equal(told.at(-1)?.count, 5)
  })

  test('continues when the store is back, with the changes in between', async (t) => {
    const { one, two, pass } = await setUp(t)
    const watcher = two.join('watcher')
    const leaver = one.join('leaver')
    await pass(1000)
    one.control.away = true
    one.join('ada')
    one.room.leave(leaver.membership, '-')
    await pass(1000)
    await pass(1000)
    one.control.away = false
    await pass(1000)
    await pass(1000)
    assert.deepEqual([watcher.told.at(-1).count, uidsJoined(watcher.told)], [2, ['ada']])
    assert.deepEqual(watcher.told.at(-1).left, [leaver.participant.id])
  })

  test('finds by comparison very many members that left while the store was unavailable', async (t) => {
    const { one, two, pass } = await setUp(t, { maxMembers: 10_000 })
    const watcher = two.join('watcher')
    await pass(1000)
    const many = Array.from({ length: 1500 }, (_, i) => one.join(`user-${i}`))
    for (let i = 0; i < 10; i++) await pass(4000)
    assert.equal(watcher.told.at(-1).count, 1501)
    one.control.away = true
    for (const { membership } of many.slice(0, 1400)) one.room.leave(membership, '~')
    await pass(4000)
    one.control.away = false
    for (let i = 0; i < 10; i++) await pass(4000)
    assert.equal(watcher.told.at(-1).count, 101)
  })

  test('writes its members again when the store has lost everything', async (t) => {
    const { one, two, redis, pass } = await setUp(t)
    const watcher = two.join('watcher')
    one.join('ada')
    await pass(1000)
    await pass(1000)
    await redis.client.flushall()
    one.room.lose('silent')
    await pass(1000)
    await pass(1000)
    await pass(1000)
    assert.ok(watcher.told.some(({ members }) => members))
    assert.deepEqual((await two.room.page()).members.map(({ uid }) => uid), ['ada', 'watcher'])
    assert.equal(watcher.told.at(-1).count, 2)
  })

  test('a present member stays, even if another worker removed it', async (t) => {
    const { one, two, pass } = await setUp(t)
    const watcher = two.join('watcher')
    const { participant } = one.join('ada')
    await pass(1000)
    await two.inner.update('doc', [{ op: '~', id: participant.id, uid: 'ada', client: '', body: '' }])
    await pass(1000)
    await pass(1000)
    assert.deepEqual(one.control.updates, [['+'], ['=']], 'it is rewritten once')
    assert.deepEqual(
      watcher.told.map(({ joined, left, count }) => [uidsOf(joined), left, count]),
      [
        [[], [participant.id], 1],
        [['ada'], [], 2]
      ]
    )
    assert.deepEqual((await two.room.page()).members.map(({ uid }) => uid), ['ada', 'watcher'])
  })

  test('a member whose client has connected to another worker is not restored', async (t) => {
    const { one, two, pass } = await setUp(t)
    const { membership } = one.join('ada', 'tab')
    await pass(1000)
    membership.participant = null
    two.join('ada', 'tab')
    await pass(1000)
    await pass(1000)
    assert.deepEqual(one.control.updates, [['+']])
    assert.equal((await two.room.page()).members.length, 1)
  })

  test('a member that leaves after its join was written without an answer is removed', async (t) => {
    const { one, two, pass } = await setUp(t)
    const { membership } = one.join('ada')
    one.control.unanswered = true
    await pass(1000)
    one.control.unanswered = false
    one.room.leave(membership, '-')
    await pass(10_000)
    await pass(10_000)
    assert.deepEqual((await two.room.page()).members, [])
  })

  test('a member that a late write brings back after it has left is removed again', async (t) => {
    const { one, two, pass } = await setUp(t)
    for (const op of /** @type {const} */ (['+', '='])) {
      const { membership } = one.join('ada')
      one.join('bob')
      await pass(1000)
      one.room.leave(membership, '-')
      await pass(10_000)
      one.control.updates.length = 0
      const { id, uid } = membership
      await one.inner.update('doc', [{ op, id, uid, client: '', body: '{}' }])
      await pass(1000)
      await pass(1000)
      assert.deepEqual(one.control.updates, [['~']], op)
      assert.deepEqual(uidsOf((await two.room.page()).members), ['bob'], op)
    }
  })

  test('connections that another process has under the number of this worker are not removed', async (t) => {
    const { one, two, pass } = await setUp(t)
    const { membership: { id } } = one.join('ada')
    await pass(1000)
    const other = id.slice(0, -1) + (id.endsWith('A') ? 'B' : 'A')
    /** @type {import('../../../src/people/presence/contract.js').Diff[]} */
    const late = one.control.late = []
    one.control.incarnation = '1.2'
    await one.inner.update('doc', [{ op: '+', id: other, uid: 'eve', client: '', body: '{}' }])
    await pass(1000)
    one.control.incarnation = '1.1'
    one.control.late = null
    for (const diff of late) one.room.receive(diff)
    await pass(1000)
    await pass(1000)
    assert.deepEqual(uidsOf((await two.room.page()).members), ['ada', 'eve'])
  })

  test('reads the list once for all new members until the next change is published', async (t) => {
    const { one, two, pass } = await setUp(t)
    for (let i = 0; i < 30; i++) one.join(`user-${i}`)
    await pass(1000)
    two.join('first')
    await pass(1000)
    await pass(10_000)
    const { pages } = two.control
    const read = await Promise.all(Array.from({ length: 20 }, () => two.room.page()))
    assert.equal(two.control.pages - pages, 1)
    assert.equal(new Set(read).size, 1)
    one.join('later')
    await pass(1000)
    assert.equal((await two.room.page()).count, 32)
  })

  test('writes its states again after a repair: the store may have lost its last writes', async (t) => {
    const { one, two, pass, redis } = await setUp(t)
    const { membership } = one.join('ada')
    const watcher = two.join('watcher')
    await pass(100)
    one.room.setState(membership, '{"state":{"line":1}}')
    await pass(100)
    const key = documentPresence('doc')[0]
    const written = await redis.client.hget(key, membership.id)
    await redis.client.hset(key, membership.id, String(written).replace('{"state":{"line":1}}', '{}'))
    watcher.told.length = 0
    one.room.lose('interrupted')
    await pass(100)
    await pass(100)
    assert.deepEqual(watcher.told.flatMap(({ changed }) => changed).map(({ state }) => state), [{ line: 1 }])
  })
})
