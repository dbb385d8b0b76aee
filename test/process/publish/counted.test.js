import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'

test('embedded mode counts records of the api, of clients and of signals', async (t) => {
  const { url, post, metrics } = await startEmbedded(t)
  const counted = async () =>
    Object.fromEntries(
      (await metrics.records.get()).values.map(({ labels, value }) => [`${labels.operator} ${labels.result}`, value])
    )
  const client = await connectClient(t, url)
  assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
  assert.equal((await post('/v1/documents/doc/broadcast', { n: 1 })).status, 202)
  assert.deepEqual(await counted(), { 'broadcast ok': 1 })
  assert.equal((await client.ask('doc:send', { guid: 'doc', event: 'message', data: 1 })).ok, true)
  assert.deepEqual(await counted(), { 'broadcast ok': 2 })
  assert.equal((await client.ask('doc:signal', { guid: 'doc', event: 'cursor', data: 1 })).ok, true)
  assert.deepEqual(await counted(), { 'broadcast ok': 3 })
})
