import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemRandom } from '../../src/base/common/random.js'
import { HISTORY } from '../../src/log/bus/contract.js'
import { createRedisMarks } from '../../src/ingest/redis-marks.js'
import { RedisPublish } from '../../src/log/bus/redis-publish.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createKeys } from '../../src/redis/keys.js'
import { BACKENDS } from '../helpers/backends.js'
import { redisUrl } from '../helpers/env.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { entry, fresh } from './bus-fixture.js'

const { documentMeta, sourceMark } = createKeys()

for (const [name, url] of BACKENDS) {
  test(`marks of Kafka partitions are kept in ${name}, for as long as documents keep their sequences`, async (t) => {
    const redis = testRedis({ urls: url().split(','), name: 'test', log: recordingLog().log })
    t.after(() => redis.stop())
    await redis.start()
    const marks = createRedisMarks({ redis })
    const sources = Array.from({ length: 3 }, (_, i) => `${randomUUID()}/${i}`)
    assert.deepEqual(await marks.read(sources), [null, null, null])
    // with Redis Cluster each is on a node with a generation of its own
    const generations = await Promise.all(sources.map(async (source) => (await marks.look(source)).generation))
    assert.deepEqual(
      await marks.write([[sources[0], '3', generations[0]]]),
      [0],
      'healing of this generation has not begun'
    )
    for (const [i, source] of sources.entries()) await marks.note(source, generations[i], 'done')
    assert.deepEqual(
      await marks.write([
        [sources[0], '20.4', generations[0]],
        [sources[2], '7', generations[2]]
      ]),
      [1, 1]
    )
    assert.deepEqual(await marks.write([[sources[1], '9', 'another']]), [0], 'reached in another generation of Redis')
    assert.deepEqual(await marks.read(sources), ['20.4', null, '7'])
    assert.ok((await redis.client.ttl(sourceMark(sources[0]))) > 6 * 86_400)
  })
}

test('a log is bound to a partition by a record behind the mark only: the log lacks others below the mark', async (t) => {
  const redis = testRedis({ urls: [redisUrl()], name: 'test', log: recordingLog().log })
  t.after(() => redis.stop())
  await redis.start()
  const publisher = new RedisPublish({ redis, historyOf: () => HISTORY, clock: systemClock, random: systemRandom })
  /** @type {RedisPublish['publish']} */
  const publish = (entries) => publisher.publish(entries)
  const [source, guid] = [`${randomUUID()}/0`, fresh()]
  const healed = (await createRedisMarks({ redis }).look(source)).generation
  const publishAt = async (/** @type {number} */ sequence) => {
    await publish([{ ...entry(guid, sequence), origin: { source, sequence, epoch: 1, healed } }])
    return redis.client.hget(documentMeta(guid), 'k')
  }
  await redis.client.set(sourceMark(source), '20.1', 'EX', 60)
  assert.equal(await publishAt(20), null)
  assert.equal(await publishAt(21), source)
  assert.equal(await publishAt(22), source)
})
