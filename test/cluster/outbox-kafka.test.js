import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { startDocumentService } from '../helpers/document-service.js'
import { fileScope } from '../helpers/file-scope.js'
import { startClient } from '../helpers/inkcast-client.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { gatewayKiller } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)

const EDITS = 300
const KILLS = 3

test('a service with Kafka applies queued edits once and in order although workers are killed in mid-send', { timeout: 270_000 }, async (t) => {
  const port = await freePort()
  // the default rate limit: some edits are refused and come again
  const cluster = await startCluster(scope, {
    WORKERS: '2',
    REDIS_URL,
    EXTENSION_DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
    ...topics.env
  })
  const service = await startDocumentService(scope, { port, apiUrl: cluster.apiUrl, kafka: topics.env })
  const guid = `queued-${randomUUID()}`
  const gateways = gatewayKiller(cluster.pid, 2)
  const writers = await Promise.all(['ada', 'bob'].map((user) =>
    startClient(t, cluster.url, { outbox: { user } }).open(guid)))
  const reader = await startClient(t, cluster.url).open(guid)
  /** @type {string[]} */
  const applied = []
  reader.on('sheet:changes', ({ changes }) => { for (const { id } of changes) applied.push(id) })
  const accepted = []
  for (let i = 1; i <= EDITS; i++) {
    const kills = i % (EDITS / KILLS) === EDITS / KILLS / 2
    if (kills) await gateways.allRun()
    for (const [who, doc] of writers.entries()) {
      const data = { id: `${who}:${i}`, cells: { A2: `${i}` } }
      accepted.push(doc.send(data, { event: 'sheet:edit', queue: true }))
    }
    // the worker of each writer in turn: both have edits on their way
    if (kills) gateways.kill(Math.floor(i / (EDITS / KILLS)))
  }
  await Promise.all(accepted)
  const message = () => ({ applied: applied.length, service: service.output() })
  await waitFor(() => applied.length >= writers.length * EDITS, { timeout: 60_000, message })
  for (const who of writers.keys()) {
    const own = applied.filter((id) => id.startsWith(`${who}:`))
    assert.deepEqual(own, Array.from({ length: EDITS }, (_, i) => `${who}:${i + 1}`))
  }
  const { document } = await (await fetch(`${cluster.url}/documents/${guid}`)).json()
  assert.equal(document.version, writers.length * EDITS)
})
