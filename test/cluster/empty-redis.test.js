import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

const TOKEN = 'a-token-of-a-service-with-32-characters'

test('pages of a quiet document load it again when Redis has lost its data', { timeout: 90_000 }, async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const inkcast = await startCluster(t, {
    NODE_ENV: 'production', AUTH_ALLOW_ANONYMOUS: 'true', WORKERS: '2', REDIS_URL: redis.url, API_TOKENS: `t:${TOKEN}`
  })
  const client = await connectClient(t, inkcast.url)
  /** @type {string[]} */
  const seen = []
  client.on('message', (_data, { guid, offset }) => seen.push(`${guid} ${offset}`))
  client.on('doc:resync', ({ guid, reason }) => seen.push(`${guid} ${reason}`))
  for (const guid of ['quiet', 'empty']) await client.ask('doc:join', { guid })
  const { status } = await fetch(`${inkcast.apiUrl}/v1/documents/quiet/broadcast`, {
    method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }, body: '{}'
  })
  assert.equal(status, 202)
  await waitFor(() => seen.length === 1, { message: () => seen })
  const own = new Redis(redis.url)
  await own.flushall().finally(() => own.disconnect())
  await waitFor(() => seen.length > 1, { timeout: 15_000, message: () => seen })
  assert.deepEqual(seen, ['quiet 1', 'quiet epoch'])
})
