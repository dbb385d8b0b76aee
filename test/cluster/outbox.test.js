import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { gatewayKiller } from '../helpers/processes.js'
import { startRedis } from '../services/redis.js'

const EDITS = 400
const KILLS = 5

test('queued edits arrive once and in order although workers are killed in mid-send', { timeout: 180_000 }, async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const cluster = await startCluster(t, { WORKERS: '2', REDIS_URL: redis.url, MAX_EVENTS_PER_SECOND: '10000' })
  const guid = `doc-${randomBytes(6).toString('hex')}`
  /** @type {Awaited<ReturnType<typeof openDocument>>[]} */
  const writers = []
  for (const name of ['ada', 'bob'])
    writers.push(await openDocument(startClient(t, cluster.url, { outbox: { user: name } }), guid))
  const gateways = gatewayKiller(cluster.pid, 2)
  /** @type {Promise<unknown>[]} */
  const accepted = []
  for (let i = 1; i <= EDITS; i++) {
    for (const [who, doc] of writers.entries()) accepted.push(doc.send({ who, i }, { queue: true }))
    if (i % (EDITS / KILLS) === EDITS / KILLS / 2) {
      await gateways.allRun()
      for (const [who, doc] of writers.entries()) accepted.push(doc.send({ who, i: i + 0.5 }, { queue: true }))
      // the worker of each writer in turn: both have edits on their way
      gateways.kill(Math.floor(i / (EDITS / KILLS)))
    }
  }
  await Promise.all(accepted)
  const reader = startClient(t, cluster.url)
  const log = await reader.open(guid)
  /** @type {{ who: number, i: number }[]} */
  const all = []
  for (let before = Infinity; before > 1;) {
    const { records } = await log.history({ limit: 100, ...(before < Infinity && { before }) })
    all.unshift(...records.map(({ payload }) => payload))
    before = records[0]?.meta.offset ?? 0
  }
  for (const [who, doc] of writers.entries()) {
    const own = all.filter((edit) => edit.who === who && Number.isInteger(edit.i)).map(({ i }) => i)
    assert.deepEqual(own, Array.from({ length: EDITS }, (_, i) => i + 1))
    assert.deepEqual(doc.pending, [])
  }
})
