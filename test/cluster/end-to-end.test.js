import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../helpers/cluster.js'
import { connectClient } from '../helpers/clients.js'
import { freshTopics } from '../helpers/kafka.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'

const REDIS_URL = await ownRedisUrl(fileScope())

test(
  'a repeated request reaches clients once, and canaries show in metrics only',
  { timeout: 270_000 },
  async (t) => {
    const topics = freshTopics(t)
    const cluster = await startCluster(t, { WORKERS: '1', REDIS_URL, ...topics.env })
    const client = await connectClient(t, cluster.url, { codec: 'json', transports: ['websocket'] })
    const guid = randomUUID()
    await client.ask('doc:join', { guid })
    const key = { 'idempotency-key': `"${randomUUID()}"` }
    const publish = (/** @type {number} */ value, /** @type {Record<string, string>} */ headers = {}) =>
      cluster.post(`/v1/documents/${guid}/broadcast`, value, headers)
    const answers = [await publish(1, key), await publish(1, key)]
    assert.deepEqual([answers[0].status, answers[1]], [202, answers[0]])
    const other = await publish(2, key)
    assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_mismatch'])

    /** @type {string} */
    let metrics = ''
    await waitFor(
      async () => {
        metrics = await cluster.metrics()
        return metrics.match(/^inkcast_canary_age_seconds\{.*partition="\d".* [\d.]+$/gm)?.length === 4
      },
      { timeout: 30_000, message: () => metrics.match(/.*canary_age.*/g) }
    )
    await publish(3)
    await waitFor(() => client.received.length >= 2)
    await delay(200)
    assert.deepEqual(
      client.received.map(({ payload }) => payload),
      [1, 3]
    )
    assert.doesNotMatch(await cluster.metrics(), /inkcast_records_total\{.*(?:canary|unknown).* [1-9]/)
    assert.match(await cluster.metrics(), /inkcast_stage_seconds_count\{.*stage="produced_written".* 2$/m)
    assert.equal(await cluster.ready(), true)
  }
)
