import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { connectClient } from '../../helpers/clients.js'
import { startCluster } from '../../helpers/cluster.js'
import { codeBlocks, commandsOf } from '../../helpers/code-blocks.js'
import { reversed } from '../../helpers/file-scope.js'
import { waitFor } from '../../helpers/wait.js'
import { startRedis } from '../../services/redis.js'

/** The drill of docs/how-to/backup.md, timed. */
test('Redis is lost and comes back from its backup: the open page loads its document, and goes on', { timeout: 180_000 }, async (t) => {
  const scope = reversed(t)
  const redis = await startRedis()
  scope.after(() => redis.stop())
  const inkcast = await startCluster(scope, { REDIS_URL: redis.url, WORKERS: '1' })
  const page = await connectClient(scope, inkcast.url)
  await page.ask('doc:join', { guid: 'minutes' })
  const publish = async (/** @type {number} */ n) =>
    (await inkcast.post('/v1/documents/minutes/broadcast', { n }, { 'idempotency-key': `"${n}"` })).status
  /** A busy machine may refuse a try. @param {number} n */
  const accepts = (n) => waitFor(async () => await publish(n) === 202, { timeout: 60_000, message: `publication ${n}` })
  const numbers = () => page.received.filter(({ event }) => event === 'message').map(({ payload }) => payload.n)
  for (const n of [1, 2, 3]) await accepts(n)
  await waitFor(() => numbers().length === 3, { message: () => `the page has ${numbers()}` })

  const [command] = codeBlocks().filter(({ file }) => file === 'docs/how-to/backup.md').flatMap(({ code }) => commandsOf(code))
  assert.equal(command, 'redis-cli bgsave')
  const ask = async (/** @type {string[]} */ ...args) =>
    (await promisify(execFile)('redis-cli', ['-p', String(redis.port), ...args])).stdout
  await ask(...command.split(' ').slice(1))
  await waitFor(async () => /rdb_bgsave_in_progress:0/.test(await ask('info', 'persistence')), { message: 'the backup' })
  const backup = join(redis.directory, 'backup.rdb')
  await copyFile(join(redis.directory, 'dump.rdb'), backup)
  for (const n of [4, 5]) await accepts(n)
  await waitFor(() => numbers().length === 5, { message: () => `the page has ${numbers()}` })

  await redis.kill()
  const lost = performance.now()
  await copyFile(backup, join(redis.directory, 'dump.rdb'))
  await redis.restart()
  assert.match(await ask('info', 'persistence'), /rdb_last_load_keys_loaded:[1-9]/, 'the backup is loaded')
  await waitFor(() => page.received.some(({ event }) => event === 'doc:resync'), {
    timeout: 90_000, message: () => JSON.stringify(page.received.slice(-3))
  })
  await waitFor(inkcast.ready, { timeout: 60_000, message: 'the cluster to be ready' })
  await accepts(6)
  await waitFor(() => numbers().includes(6), { timeout: 60_000, message: () => `the page has ${numbers()}` })
  t.diagnostic(`the page goes on ${((performance.now() - lost) / 1000).toFixed(1)} s after the loss of Redis`)
  assert.equal(page.connected, true)
  assert.deepEqual(numbers().slice(0, 5), [1, 2, 3, 4, 5])
  const order = page.received.map(({ event, payload }) => event === 'message' ? payload.n : event)
  assert.ok(order.indexOf('doc:resync') > order.indexOf(5) && order.indexOf('doc:resync') < order.indexOf(6), order.join())
})
