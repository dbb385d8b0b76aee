import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { EVERY_DOCUMENT, MAX_ORDERS, Orders, orderName, readOrderName } from '../../../src/log/bus/orders.js'

test('an order is new once, and new again when it is repeated', () => {
  const orders = new Orders(systemClock)
  assert.deepEqual(
    [
      orders.note('ada', 'rdoc', 5),
      orders.note('ada', 'rdoc', 5),
      orders.note('ada', 'rdoc', 4),
      orders.note('ada', 'rdoc', 6),
      orders.note('ada', 'k', 1),
      orders.note('ben', 'rdoc', 1)
    ],
    [true, false, false, true, true, true]
  )
  assert.deepEqual(
    [
      orders.revokedAt('ada', 'doc'),
      orders.revokedAt('ada', 'k'),
      orders.revokedAt('ben', 'doc'),
      orders.revokedAt('cid', 'doc')
    ],
    [6, 0, 1, 0]
  )
  assert.deepEqual(orders.of('ada'), [['rdoc', 6], ['k', 1]])
  orders.forget('ada')
  assert.deepEqual([orders.revokedAt('ada', 'doc'), orders.of('ada'), orders.size], [0, [], 1])
})

test('an answer from before the end of a ban counts as one from before a kick', () => {
  const orders = new Orders(systemClock)
  const kick = { operator: /** @type {const} */ ('kick'), uid: 'ada' }
  assert.equal(orders.kickedAt('ada'), 0)
  orders.noteOrder(kick, 50_000)
  assert.equal(orders.kickedAt('ada'), 50_000)
  orders.noteOrder({ ...kick, ttl: 10 }, 100_000)
  assert.equal(orders.kickedAt('ada'), 110_000)
  orders.noteOrder({ operator: 'restore', uid: 'ada' }, 101_000)
  assert.equal(orders.kickedAt('ada'), 50_000, 'the ban is taken back, the kick is not')
})

test('a ban that ends before one of before a step of the clock back is carried out', () => {
  const orders = new Orders(systemClock)
  const ban = { operator: /** @type {const} */ ('kick'), uid: 'ada', ttl: 10 }
  assert.equal(orders.noteOrder(ban, 100_000), true)
  assert.equal(orders.noteOrder({ ...ban, ttl: 5 }, 70_000), true)
  assert.equal(orders.bannedUntil('ada'), 110_000)
  const revoke = { operator: /** @type {const} */ ('revoke'), uid: 'ada', guid: 'd', ttl: 10 }
  assert.equal(orders.noteOrder(revoke, 100_000), true)
  assert.equal(orders.noteOrder({ ...revoke, ttl: 5 }, 70_000), true)
  assert.equal(orders.closedUntil('ada', 'd'), 110_000)
})

test('a ban that comes twice is carried out once', () => {
  const orders = new Orders(systemClock)
  const ban = { operator: /** @type {const} */ ('kick'), uid: 'ada', ttl: 10 }
  assert.deepEqual([orders.noteOrder(ban, 100_000), orders.noteOrder(ban, 100_000)], [true, false])
})

test('a kick that arrives after the end of a ban is carried out: the ban alone was taken back', () => {
  const orders = new Orders(systemClock)
  orders.noteOrder({ operator: 'restore', uid: 'ada' }, 110)
  assert.equal(orders.noteOrder({ operator: 'kick', uid: 'ada', ttl: 10 }, 100), false)
  assert.equal(orders.noteOrder({ operator: 'kick', uid: 'ada' }, 100), true)
})

test('the newest time of the orders about each user leaves out the ends of orders', () => {
  const orders = new Orders(systemClock)
  orders.noteOrder({ operator: 'kick', uid: 'ada' }, 5)
  orders.noteOrder({ operator: 'revoke', uid: 'ada', guid: 'b' }, 7)
  orders.noteOrder({ operator: 'restore', uid: 'ben', guid: 'd' }, 9)
  orders.noteOrder({ operator: 'kick', uid: 'cid', ttl: 10 }, 11)
  orders.noteOrder({ operator: 'revoke', uid: 'ada', guid: 'd', ttl: 10 }, 6)
  assert.deepEqual([...orders.times()], [['ada', 7], ['ben', 9]])
})

test('every document has a distinct name among orders', () => {
  for (const guid of ['k', '*', 'r', 'doc'])
    assert.deepEqual(readOrderName(orderName({ operator: 'revoke', guid })), { operator: 'revoke', guid })
  assert.deepEqual(readOrderName(orderName({ operator: 'kick' })), { operator: 'kick' })
  assert.equal(readOrderName(EVERY_DOCUMENT), null)
})

test('when there are too many revokes, the oldest close all documents rather than reopen theirs', () => {
  const orders = new Orders(systemClock)
  for (let i = 0; i < MAX_ORDERS + 5; i++) orders.note('ada', `rdoc-${i}`, 1000 + i)
  assert.equal(orders.of('ada').length, MAX_ORDERS)
  // the oldest six were merged, with the newest of their times
  assert.deepEqual([0, 5, 6, 'other'].map((i) => orders.revokedAt('ada', `doc-${i}`)), [1005, 1005, 1006, 1005])
})

test('a revoke for a time that is dropped closes all documents for tokens of before, not until its end', () => {
  const now = 50_000
  const orders = new Orders({ now: () => now })
  for (let i = 0; i < MAX_ORDERS + 1; i++)
    orders.noteOrder({ operator: 'revoke', uid: 'ada', guid: `doc-${i}`, ttl: 3600 + i }, now)
  assert.equal(orders.of('ada').length, MAX_ORDERS)
  assert.deepEqual(orders.revokedAt('ada', 'other'), now)
})

test('a restore that is read with a registration takes back what it restores, but nothing newer', () => {
  const restore = orderName({ operator: 'restore', guid: 'd' })
  /** @type {[known: [string, number][], read: [string, number][], left: string[]][]} */
  const cases = [
    [[['rd', 5]], [[restore, 6]], []],
    [[['rd', 7]], [[restore, 6]], ['rd']],
    [[['bd', 90]], [[restore, 6]], []],
    [[['bd', 90], ['rd', 4]], [[restore, 6], ['bd', 95]], ['bd']],
    [[['rd', 5], ['re', 5]], [[restore, 6], ['re', 5]], ['re']]
  ]
  for (const [known, read, left] of cases) {
    const orders = new Orders(systemClock)
    for (const [name, at] of known) orders.note('ada', name, at)
    orders.noteAll('ada', read)
    assert.deepEqual(orders.of('ada').map(([name]) => name).filter((name) => name !== restore).sort(), left)
  }
})
