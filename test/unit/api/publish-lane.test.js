import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedisRequests } from '../../../src/services/api/idempotency/redis-requests.js'
import { createPublishLane } from '../../../src/services/api/publish-lane.js'
import { kafkaSink } from '../../../src/services/api/publish.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { publicationWith } from '../../helpers/publication.js'
import { storeRedis } from '../../helpers/store-redis.js'

test('in a batch that Kafka took in part, only the refused publication may be corrected under its key', async (t) => {
  const { redis } = await storeRedis(t)
  /** @type {string[]} */
  const written = []
  const publishLane = createPublishLane({
    sink: kafkaSink(async ({ value }) => {
      if (value.length > 3) throw new InkcastError('value_too_large')
      written.push(value.toString())
    }, async () => []),
    requests: createRedisRequests({ redis, clock: systemClock, random: systemRandom })
  })
  const publish = async (/** @type {Record<string, string>} */ values) => {
    const results = await publishLane(Object.entries(values).map(([idempotencyKey, value]) =>
      publicationWith({ idempotencyKey, value: Buffer.from(value) })), { atomic: true })
    return results.map((result) => result instanceof InkcastError ? result.code : 'ok')
  }

  assert.deepEqual(await publish({ a: '1', b: '22222' }), ['ok', 'value_too_large'])
  assert.deepEqual(await publish({ a: '3', b: '2' }), ['idempotency_mismatch', 'batch_refused'])
  assert.deepEqual(await publish({ a: '1', b: '4' }), ['ok', 'ok'])
  assert.deepEqual(written, ['1', '4'])
})
