import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createRedisMarks } from '../../src/bus/redis-marks.js'
import { createRedis } from '../../src/redis/client.js'
import { sourceMark } from '../../src/redis/keys.js'
import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { recordingLog } from '../helpers/recording-log.js'

for (const [name, url] of /** @type {[string, () => string][]} */ ([
  ['one Redis', redisUrl],
  ['Redis Cluster', redisClusterUrl]
])) {
  test(`marks of Kafka partitions are kept in ${name}, for as long as documents keep their sequences`, async (t) => {
    const redis = createRedis({ urls: url().split(','), name: 'test', log: recordingLog().log })
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
