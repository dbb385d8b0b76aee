import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createFeeds } from '../../src/documents/feeds.js'
import { documentLog, documentMeta } from '../../src/redis/keys.js'
import { createRedisPair, rollBackLog } from '../contract/bus-redis-pair.js'
import { createInbox, entry, fresh, handlersOf, range } from '../contract/bus-fixture.js'
import { recordingLog } from '../helpers/recording-log.js'
import { FakeMember } from '../helpers/scripted-bus.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

// one of its own: a test counts all commands
const server = await startRedis()
const worker = createInbox()
const pair = await createRedisPair(server.url, {
  handlers: [handlersOf(worker), handlersOf(createInbox())],
  workers: [3001, 3002],
  history: { size: 100, ttl: 60 }
})
const feeds = createFeeds({
  bus: pair.first,
  createDelivery: (record) => record,
  metrics: pair.metrics,
  log: recordingLog().log,
  clock: systemClock,
  random: systemRandom
})
worker.onRecord = (record) => feeds.receive(record)
worker.onReconnect = (guids) => { feeds.check(guids).catch(() => {}) }
feeds.start()
after(async () => {
  feeds.stop()
  await pair.stop()
  await server.stop()
})

test('a last record that pub/sub lost is delivered within seconds', async () => {
  const members = range(600).map((i) => ({ guid: fresh(), member: new FakeMember(`m${i}`) }))
  await Promise.all(members.map(({ guid, member }) => feeds.join(guid, member, undefined, () => true)))
  await Promise.all(members.map(({ guid }) => pair.publisher.publish([entry(guid, 1)])))
  await waitFor(() => members.every(({ member }) => member.offsets.length === 1), { message: 'live delivery' })
  const { client } = pair.connections[2]
  const silent = members.filter((_, i) => i % 10 === 0)
  // append without publishing
  for (const { guid } of silent) {
    const [[, fields]] = await client.xrangeBuffer(documentLog(guid), '-', '+')
    await client.multi().xadd(documentLog(guid), '2-0', ...fields).hincrby(documentMeta(guid), 'o', 1).exec()
  }
  await waitFor(() => silent.every(({ member }) => member.offsets.length === 2), {
    timeout: 10_000,
    message: 'the lost records'
  })
  assert.ok(
    members.every(({ member }, i) => member.offsets.length === (i % 10 === 0 ? 2 : 1) && member.resyncs.length === 0)
  )
  assert.equal((await pair.metrics.silent_losses.get()).values[0].value, silent.length)
  // another test counts commands, and each open document causes some
  for (const { guid, member } of members) feeds.leave(guid, member)
})

/** Creates a document with ten records, of which Redis then loses five. Its member only knows the position. */
async function rolledBack () {
  const guid = fresh()
  await pair.publisher.publish(range(10, 1).map((i) => entry(guid, i)))
  const member = new FakeMember()
  const { position } = await feeds.join(guid, member, undefined, () => true)
  assert.equal(position.offset, 10)
  await rollBackLog(pair.connections[2].client, guid, 5)
  return { guid, member, epoch: position.epoch }
}

test('new records at offsets that Redis lost cause a resync, and later ones are delivered', async () => {
  const { guid, member, epoch } = await rolledBack()
  await pair.publisher.publish([entry(guid, 'another sixth')])
  await waitFor(() => member.resyncs.length > 0, { message: 'the resync' })
  const [{ epoch: next }] = member.resyncs
  assert.notEqual(next, epoch)
  const [{ position }] = await pair.publisher.publish([entry(guid, 'after it')])
  assert.deepEqual(position, { epoch: next, offset: 1 })
  await waitFor(() => member.offsets.length > 0, { message: 'live delivery' })
  assert.deepEqual([member.offsets, member.resyncs.length], [[1], 1])
})

test('a loss in Redis is detected without new records too', async () => {
  const { member, epoch } = await rolledBack()
  await waitFor(() => member.resyncs.length > 0, { timeout: 15_000, message: 'the resync' })
  assert.notEqual(member.resyncs[0].epoch, epoch)
})

test('a client that resumes at the lost end of a log gets a resync, in a few calls', async () => {
  const { guid, member, epoch } = await rolledBack()
  const { client } = pair.connections[2]
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1])
  const before = await commands()
  const back = new FakeMember('back')
  let wanted = true
  const joining = feeds.join(guid, back, { epoch, offset: 5 }, () => wanted)
  try {
    await waitFor(() => back.resyncs.length > 0 && member.resyncs.length > 0, { message: 'both resyncs' })
  } finally {
    wanted = false
  }
  assert.equal((await joining).recovered, false)
  const spent = await commands() - before
  assert.ok(spent < 1000, `${spent} commands`)
})
