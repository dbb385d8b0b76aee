import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { connectToWorkers } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { openWatch } from '../helpers/watch.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** Two machines with the same Redis and Kafka; the second one has one gateway worker. */
/** @type {Awaited<ReturnType<typeof startCluster>>[]} */
let machines

before(async () => {
  machines = await Promise.all([
    startCluster(scope, { WORKERS: '2', REDIS_URL, ...topics.env, HISTORY_SIZE: '5' }),
    startCluster(scope, { WORKERS: '1', REDIS_URL, ...topics.env, HISTORY_SIZE: '5' })
  ])
}, { timeout: 120_000 })

/** 2 + 1 gateway workers, 2 ingest, 2 api. */
const PROCESSES = 7

test('a record from Kafka shows its hops through ingest and all workers, on both machines', { timeout: 120_000 }, async (t) => {
  const guid = randomUUID()
  const [here, there] = machines
  const clients = [
    ...await connectToWorkers(t, here.url, 2, 4),
    ...await connectToWorkers(t, there.url, 1, 2)
  ]
  await Promise.all(clients.map((client) => client.ask('doc:join', { guid })))
  const { events, seen, of } = await openWatch(t, there.adminUrl, `guid=${guid}`, PROCESSES)
  const traceId = randomUUID()
  await here.post(`/v1/documents/${guid}/broadcast`, 1, { 'x-trace-id': traceId })
  await waitFor(() => of('written').reduce((sum, { count = 0 }) => sum + count, 0) === clients.length, {
    timeout: 20_000,
    message: () => JSON.stringify(events)
  })
  // batches of different processes arrive in any order
  for (const hop of ['produced', 'ingested']) await seen(hop)
  await seen('logged', ({ offset }) => offset === 1)
  await seen('received', undefined, 3)
  const own = events.filter((event) => event.traceId === traceId)
  const hops = (/** @type {string} */ hop) => own.filter((event) => event.hop === hop)
  // Kafka may have handed it out again
  assert.equal(hops('logged').length, 1, JSON.stringify(own))
  assert.equal(hops('ingested')[0].process, 'ingest-0')
  assert.equal(typeof hops('ingested')[0].details?.offset, 'number')
  assert.equal(hops('received').length, 3, 'each worker receives it once')
  assert.equal(new Set(hops('written').flatMap(({ clients = [] }) => clients.map(({ sid }) => sid))).size, clients.length)
  for (const { ms } of own.filter(({ hop }) => hop !== 'produced')) assert.ok(Number(ms) >= 0)
})

test('a record that ingest refuses is seen as a dead letter, with the reason', { timeout: 60_000 }, async (t) => {
  const guid = randomUUID()
  const { seen } = await openWatch(t, machines[0].adminUrl, `guid=${guid}`, PROCESSES)
  const producer = await topics.producer()
  await producer.send({
    topic: topics.downlink,
    messages: [{ key: guid, value: '{"cut', headers: { 'x-operator': 'broadcast', 'x-guid': guid, 'x-trace-id': 'cut' } }]
  })
  const [letter] = await seen('dead_letter')
  assert.deepEqual([letter.reason, letter.traceId, letter.details?.topic], ['bad_value', 'cut', topics.downlink])
  assert.match(letter.process, /^ingest-/)
})

test('a kick on one machine is seen as the reason of the close on the other', { timeout: 60_000 }, async (t) => {
  const guid = randomUUID()
  const [here, there] = machines
  const [client] = await connectToWorkers(t, there.url, 1, 1)
  const { members } = await client.ask('doc:join', { guid, members: true })
  const { seen } = await openWatch(t, here.adminUrl, `uid=${encodeURIComponent(members[0].uid)}`, PROCESSES)
  await fetch(`${here.apiUrl}/v1/users/${encodeURIComponent(members[0].uid)}/connections`, { method: 'DELETE' })
  await seen('received', ({ operator }) => operator === 'kick')
  const [closed] = await seen('closed')
  assert.deepEqual([closed.reason, closed.process], ['kicked', 'gateway-0'])
})

test('a watch ends on all processes by its lease when the process that serves it is killed', { timeout: 90_000 }, async (t) => {
  const [here, there] = machines
  const { of } = await openWatch(t, here.adminUrl, 'guid=abandoned', PROCESSES)
  assert.ok(of('watching').length >= PROCESSES)
  const watches = async () => /^inkcast_inspect_watches\{.*role="gateway".*\} (\d+)$/m.exec(await there.metrics())?.[1]
  await waitFor(async () => Number(await watches()) >= 1)
  for (const { pid, role } of await childrenOf(here.pid)) if (role === 'api') process.kill(pid, 'SIGKILL')
  await waitFor(async () => await watches() === '0', { timeout: 20_000, message: 'no watch to be left' })
})
