import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createLanes } from '../../src/ingest/lanes.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { emitterChannels } from '../../src/transport/socketio/emitter-messages.js'
import { startOwnRedis } from '../helpers/own-redis.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'
import { arrived, createInbox, entry, fresh, handlersOf, of, offsets, range, texts } from './bus-fixture.js'

const { server, redis: admin, log, lines } = await startOwnRedis('admin')
/** The permissions in docs/operations/redis.md. */
const ALL = '~inkcast:* &inkcast:* +@all -@admin -@dangerous +info'.split(' ')

/** @param {string} user @param {string[]} rules */
const allow = (user, ...rules) => admin.client.acl('SETUSER', user, ...rules)

/**
 * Starts a publisher whose Redis user has only these permissions, and a worker whose user has all.
 * @param {import('node:test').TestContext} t
 */
async function setUp (t) {
  const user = fresh('user')
  await allow(user, 'on', '>geheim', ...ALL)
  const redis = testRedis({ urls: [server.url.replace('redis://', `redis://${user}:geheim@`)], log, name: 'test' })
  t.after(() => redis.stop())
  await redis.start()
  const inbox = createInbox()
  const settings = { log, metrics: createMetrics({ processMetrics: false }), history: { size: 100, ttl: 60 } }
  const publisher = createRedisBus({ redis, ...settings, clock: systemClock, random: systemRandom })
  const worker = createRedisBus({
    redis: admin, workerNumber: 1, ...settings, clock: systemClock, random: systemRandom
  })
  for (const bus of [publisher, worker]) {
    t.after(() => bus.stop())
    await bus.start(bus === worker ? handlersOf(inbox) : undefined)
  }
  return { user, redis, publisher, worker, inbox }
}

for (const [what, taken] of /** @type {[string, string[]][]} */ ([
  ['its channels', ['resetchannels']],
  ['SPUBLISH', ['-spublish']],
  ['HSET', ['-hset']],
  ['EXPIRE', ['-expire']],
  ['sorted sets', ['-@sortedset']],
  ['XADD', ['-xadd']],
  ['scripts', ['-evalsha', '-eval']],
  ['its keys', ['resetkeys']]
])) {
  test(`without the permission for ${what} nothing is published; after it is granted again everything is`, async (t) => {
    const { user, redis, publisher, worker, inbox } = await setUp(t)
    const guid = fresh()
    const position = await worker.subscribe(guid)
    const batch = (/** @type {number} */ from) =>
      range(3, from).map((i) => ({
        ...entry(guid, i, { idempotencyKey: i === 1 + from ? `k${i}` : undefined }),
        origin: { source: 't/0', sequence: i }
      }))
    await publisher.publish(batch(0))
    await allow(user, ...taken)
    for (let i = 0; i < 2; i++) await assert.rejects(publisher.publish(batch(3)), { code: 'unavailable' })
    assert.match(redis.trouble ?? '', /^Redis refuses what inkcast needs: (?:NOPERM|ERR The user)/)
    await allow(user, ...ALL)
    const published = await publisher.publish(batch(3))
    assert.deepEqual(
      published.map(({ duplicate, position }) => [duplicate, position?.offset]),
      [
        [false, 4],
        [false, 5],
        [false, 6]
      ]
    )
    await arrived(inbox, guid, 6)
    assert.deepEqual(offsets(of(inbox, guid)), range(6, 1))
    const { records, gap } = await worker.history(guid, position, 100)
    assert.deepEqual([gap, texts(records)], [null, range(6)])
  })
}

test('without the permission for the mark of a queue its edit is not published; after it is granted again it is', async (t) => {
  const { user, publisher, worker } = await setUp(t)
  const guid = fresh()
  const position = await worker.subscribe(guid)
  const queued = (/** @type {number} */ number) => [{ ...entry(guid, number), queue: { id: 'q', number } }]
  await publisher.publish(queued(1))
  await allow(user, '-hincrby')
  for (let i = 0; i < 2; i++) await assert.rejects(publisher.publish(queued(2)), { code: 'unavailable' })
  await publisher.publish([entry(guid, 10)])
  await allow(user, ...ALL)
  const published = [...await publisher.publish(queued(2)), ...await publisher.publish(queued(2))]
  assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, true])
  assert.deepEqual(texts((await worker.history(guid, position, 100)).records), [1, 10, 2])
})

test('without the permissions for keys a batch with one is not published at all; after they are granted again it is', async (t) => {
  const { user, publisher, worker } = await setUp(t)
  const guid = fresh()
  const position = await worker.subscribe(guid)
  await publisher.publish([entry(guid, 1)])
  for (const command of ['-xdel', '-hgetall', '-xlen']) {
    await allow(user, command)
    await assert.rejects(publisher.publish([entry(guid, 2), entry(guid, 3, { key: 'a' })]), { code: 'unavailable' })
    await allow(user, ...ALL)
  }
  await publisher.publish([entry(guid, 2), entry(guid, 3, { key: 'a' }), entry(guid, 4, { key: 'a' })])
  await allow(user, '-xdel')
  await assert.rejects(publisher.publish([entry(guid, 5)]), { code: 'unavailable' })
  await allow(user, ...ALL)
  await publisher.publish([entry(guid, 5)])
  assert.deepEqual(texts((await worker.history(guid, position, 100)).records), [1, 2, 4, 5])
})

test('records wait for missing permissions, and are not refused as dead letters', async (t) => {
  const { user, publisher, worker, inbox } = await setUp(t)
  const guid = fresh()
  await worker.subscribe(guid)
  await allow(user, 'resetchannels')
  /** @type {number[]} */
  const refused = []
  let retries = 0
  const run = createLanes({
    publish: publisher.publish,
    onPublished () {},
    refuse: async ({ index }) => { refused.push(index) },
    onRetry: () => { retries++ },
    clock: systemClock,
    random: systemRandom
  })
  const done = run(
    [[{ index: 0, entry: { ...entry(guid, 0), origin: { source: 't/0', sequence: 0 } } }]],
    new AbortController().signal
  )
  await waitFor(() => retries > 6 || refused.length > 0, { timeout: 20_000, message: () => `${retries} retries` })
  assert.ok(lines.some(({ level, text }) => level === 'warn' && text.includes('redis refuses what inkcast needs')))
  await allow(user, ...ALL)
  await done
  assert.deepEqual(refused, [])
  await arrived(inbox, guid, 1)
})

test('the channels of emitters need permissions of their own; a missing one is reported until it is granted', async (t) => {
  const user = fresh('user')
  await allow(user, 'on', '>geheim', ...ALL)
  const redis = testRedis({ urls: [server.url.replace('redis://', `redis://${user}:geheim@`)], log, name: 'test' })
  t.after(() => redis.stop())
  await redis.start()
  /** @type {string[]} */
  const messages = []
  const subscriber = redis.subscribePatterns(emitterChannels('socket.io'), (channel) => { messages.push(channel) })
  t.after(() => subscriber.stop())
  await subscriber.start()
  assert.match(redis.trouble ?? '', /^Redis refuses what inkcast needs: NOPERM/)
  assert.ok(lines.some(({ level, text }) => level === 'warn' && text.includes('redis refuses what inkcast needs')))
  // PSUBSCRIBE needs exactly these patterns: a wider one is not enough
  await allow(user, '&socket.io*')
  const refused = () => admin.client.acl('LOG').then((entries) => /** @type {any} */ (entries).flat().join())
  await admin.client.acl('LOG', 'RESET')
  await waitFor(async () => (await refused()).includes('socket.io#*'), { message: 'another attempt to be refused' })
  await allow(user, '&socket.io#*', '&socket.io-request#*')
  const channels = ['socket.io#/#', 'socket.io-request#/#']
  await waitFor(async () => {
    for (const channel of channels) await admin.client.publish(channel, 'x')
    return channels.every((channel) => messages.includes(channel))
  }, { timeout: 15_000, message: 'messages of emitters' })
})

test('rooms with a prefix of their own need the permission for its channels', async (t) => {
  const user = fresh('user')
  await allow(user, 'on', '>geheim', ...ALL)
  const redis = testRedis({ urls: [server.url.replace('redis://', `redis://${user}:geheim@`)], log, name: 'test' })
  t.after(() => redis.stop())
  await redis.start()
  const publish = (/** @type {string} */ channel) => redis.adapterClients().publisher.spublish(channel, 'x')
  await publish('inkcast:rooms#/#')
  await assert.rejects(publish('socket.io#/#'), /NOPERM/)
  await allow(user, '&socket.io#*')
  await publish('socket.io#/#')
})
