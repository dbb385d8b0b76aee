import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { fileScope } from '../helpers/file-scope.js'
import { waitFor } from '../helpers/wait.js'

const REDIS_URL = await ownRedisUrl(fileScope())

test('a cluster without Kafka counts records of the api, of clients and of signals', async (t) => {
  const cluster = await startCluster(t, { REDIS_URL, WORKERS: '1' })
  const client = await connectClient(t, cluster.url)
  assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
  assert.equal((await cluster.post('/v1/documents/doc/broadcast', { n: 1 })).status, 202)
  assert.equal((await client.ask('doc:send', { guid: 'doc', event: 'message', data: 1 })).ok, true)
  assert.equal((await client.ask('doc:signal', { guid: 'doc', event: 'cursor', data: 1 })).ok, true)
  let lines = ''
  await waitFor(
    async () => {
      lines = (await cluster.metrics()).match(/^inkcast_records_total.*/gm)?.join('\n') ?? ''
      return /role="api".* 1$/m.test(lines) && /role="gateway".* 2$/m.test(lines)
    },
    { timeout: 20_000, message: () => lines }
  )
})
