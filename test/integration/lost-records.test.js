import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createFeeds } from '../../src/documents/feeds.js'
import { documentLog, documentMeta } from '../../src/redis/keys.js'
import { createRedisPair } from '../contract/bus-redis-pair.js'
import { createInbox, entry, fresh, handlersOf, range } from '../contract/bus-fixture.js'
import { redisUrl } from '../helpers/env.js'
import { recordingLog } from '../helpers/recording-log.js'
import { FakeMember } from '../helpers/scripted-bus.js'
import { waitFor } from '../helpers/wait.js'

const worker = createInbox()
const pair = await createRedisPair(redisUrl(), { handlers: [handlersOf(worker), handlersOf(createInbox())], workers: [3001, 3002], history: { size: 100, ttl: 60 } })
const feeds = createFeeds({ bus: pair.first, createDelivery: (record) => record, metrics: pair.metrics, log: recordingLog().log })
worker.onRecord = (record) => feeds.receive(record)
feeds.start()
after(async () => {
  feeds.stop()
  await pair.stop()
})

test('the last record of a document that pub/sub has lost is delivered within seconds', async () => {
  const members = range(600).map((i) => ({ guid: fresh(), member: new FakeMember(`m${i}`) }))
  await Promise.all(members.map(({ guid, member }) => feeds.join(guid, member, undefined, () => true)))
  await Promise.all(members.map(({ guid }) => pair.publisher.publish([entry(guid, 1)])))
  await waitFor(() => members.every(({ member }) => member.offsets.length === 1), { message: 'live delivery' })
  const { client } = pair.connections[2]
  const silent = members.filter((_, i) => i % 10 === 0)
  // appended, and nobody is told
  for (const { guid } of silent) {
    const [[, fields]] = await client.xrangeBuffer(documentLog(guid), '-', '+')
    await client.multi().xadd(documentLog(guid), '2-0', ...fields).hincrby(documentMeta(guid), 'o', 1).exec()
  }
  await waitFor(() => silent.every(({ member }) => member.offsets.length === 2), { timeout: 10_000, message: 'what was lost' })
  assert.ok(members.every(({ member }, i) => member.offsets.length === (i % 10 === 0 ? 2 : 1) && member.resyncs.length === 0))
  assert.equal((await pair.metrics.silent_losses.get()).values[0].value, silent.length)
})
