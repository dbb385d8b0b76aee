import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'

/** Two machines with the same Redis and Kafka. */
const SHAPE = { machines: 2, kafka: true, inspects: true, errors: ['dead letter'] }
/** 4 gateway workers, 2 ingest, 2 api. */
const PROCESSES = 8

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */
/**
 * @typedef {import('../../src/watch/inspect/contract.js').InspectEvent & { process: string, host: string }} SeenEvent
 */

/** @param {ScriptedCluster} cluster @param {string} machine */
const apiOf = (cluster, machine) => {
  const slot = cluster.cluster.slots.find(({ name }) => name.startsWith(`${machine}/api`))
  if (slot === undefined) throw new Error(`${machine} has no api`)
  return slot
}

/**
 * Watches something through the api process of a machine, as its admin port does.
 * @param {ScriptedCluster} cluster
 * @param {string} machine
 * @param {string} query `guid=…`, `uid=…` or `trace=…`
 */
async function watch (cluster, machine, query) {
  const { running: { process, privateRoutes } } = apiOf(cluster, machine)
  await cluster.act(process, () => {
    http.createServer((req, res) => privateRoutes.get('/inspect')?.(req, res)).listen(9100, '0.0.0.0')
  })
  /** @type {SeenEvent[]} */
  const events = []
  await cluster.act(cluster.outside('operator'), () => {
    http.get({ host: machine, port: 9100, path: `/inspect?${query}`, agent: false }, (answer) => {
      let rest = ''
      answer.on('data', (chunk) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        events.push(...lines.map((line) => JSON.parse(line)))
      })
      answer.on('error', () => {})
    }).on('error', () => {})
  })
  const of = (/** @type {string} */ hop) => events.filter((event) => event.hop === hop)
  await cluster.until(() => of('watching').length === PROCESSES, { message: () => events })
  return { events, of }
}

test('a record from Kafka shows its hops through ingest and all workers, on both machines', () =>
  inCluster(SHAPE, async (cluster) => {
    const clients = []
    for (const on of cluster.gateways) clients.push(await cluster.connect('ada', { on }))
    for (const client of clients) await client.ask('doc:join', { guid: 'doc' })
    const { events, of } = await watch(cluster, 'm2', 'guid=doc')
    await cluster.publish('doc', 1, { 'x-trace-id': 'mine' })
    await cluster.until(() => of('written').reduce((sum, { count = 0 }) => sum + count, 0) === clients.length, {
      message: () => events
    })
    await cluster.pass(2000)
    const own = events.filter((event) => event.traceId === 'mine')
    const hops = (/** @type {string} */ hop) => own.filter((event) => event.hop === hop)
    assert.equal(hops('produced').length, 1)
    assert.deepEqual(hops('logged').map(({ offset }) => offset), [1])
    assert.equal(hops('ingested')[0].process, 'ingest-0')
    assert.equal(typeof hops('ingested')[0].details?.offset, 'number')
    assert.deepEqual(hops('received').map(({ host, process }) => `${host} ${process}`).sort(), [
      'm1 gateway-0', 'm1 gateway-1', 'm2 gateway-0', 'm2 gateway-1'
    ], 'each worker receives it once')
    const written = hops('written').flatMap(({ clients = [] }) => clients.map(({ sid }) => sid))
    assert.deepEqual(written.sort(), clients.map(({ id }) => id).sort())
    for (const { ms } of own.filter(({ hop }) => hop !== 'produced')) assert.ok(Number(ms) >= 0)
  }))

test('a record that ingest refuses is seen as a dead letter, with the reason', () =>
  inCluster(SHAPE, async (cluster) => {
    const { of } = await watch(cluster, 'm1', 'guid=doc')
    await cluster.produce(
      { 'x-operator': 'broadcast', 'x-guid': 'doc', 'x-trace-id': 'cut' }, '{"cut', (value) => value)
    const letter = await cluster.until(() => of('dead_letter')[0])
    assert.deepEqual([letter.reason, letter.traceId, letter.details?.topic], ['bad_value', 'cut', 'documents.downlink'])
    assert.match(letter.process, /^ingest-/)
  }))

test('a kick on one machine is seen as the reason of the close on the other', () =>
  inCluster(SHAPE, async (cluster) => {
    const on = cluster.gateways.find(({ name }) => name.startsWith('m2/'))
    await cluster.connect('ada', { on, socket: { reconnection: false } })
    const { of } = await watch(cluster, 'm1', 'uid=ada')
    await cluster.request('DELETE', '/v1/users/ada/connections')
    const closed = await cluster.until(() => of('closed')[0])
    assert.ok(of('received').some(({ operator }) => operator === 'kick'))
    assert.deepEqual([closed.reason, `${closed.host}/${closed.process}`], ['kicked', on?.name])
  }))

test('a watch ends on all processes by its lease when the process that serves it is killed', () =>
  inCluster(SHAPE, async (cluster) => {
    await watch(cluster, 'm1', 'guid=doc')
    const watches = async () => {
      const all = await Promise.all(
        cluster.cluster.running().map(({ metrics }) => metrics.collect(['inkcast_inspect_watches'])))
      return all.flat().flatMap((/** @type {any} */ { values }) => values).reduce((sum, { value }) => sum + value, 0)
    }
    const seen = () => cluster.act(cluster.gateways[0].running.process, watches)
    assert.equal(await seen(), PROCESSES)
    cluster.kill(apiOf(cluster, 'm1'))
    await cluster.pass(5000)
    assert.equal(await seen(), PROCESSES - 1, 'a moment later they still watch')
    await cluster.pass(10_000)
    assert.equal(await seen(), 0)
  }))
