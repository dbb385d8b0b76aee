import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

test('pages of a quiet document load it again when Redis has lost its data', () => inCluster({}, async (cluster) => {
  const page = await cluster.connect('ada')
  await page.ask('doc:join', { guid: 'quiet' })
  await cluster.publish('quiet', {})
  await cluster.until(() => page.got('record').length === 1)
  await cluster.command('FLUSHALL')
  await cluster.until(() => page.got('doc:resync').length > 0, { timeout: 15_000 })
  await cluster.pass(5000)
  assert.deepEqual(page.got('doc:resync').map(({ guid, reason }) => `${guid} ${reason}`), ['quiet epoch'])
}))
