import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { before, test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { commandFolder } from '../helpers/command.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { withholdingProxy } from '../helpers/withholding-proxy.js'

/** `inkcast load` against two workers and Redis: a whole run, and runs in which one message is withheld. */
const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
before(async () => {
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL })
}, { timeout: 90_000 })

/**
 * @param {import('node:test').TestContext} t
 * @param {string[]} args
 * @param {string} [withheld] text of the message that does not arrive
 */
async function load (t, args, withheld) {
  for (let runs = 1; ; runs++) {
    const proxy = await withholdingProxy(t, cluster.port, withheld)
    const { folder, run } = commandFolder(t)
    const ended = await run([
      'load', '-n', '12', '--ramp', '50', '--hold', '2s', '--size', '300', '--url', proxy.url, '--api', cluster.apiUrl,
      '--admin', cluster.adminUrl, '--json', 'load.json', '--report', 'load.html', ...args
    ])
    // a process that pauses may leave no time for this record
    if (withheld !== undefined && proxy.withheld() === 0 && runs < 5) continue
    const file = (/** @type {string} */ name) => readFileSync(path.join(folder, name), 'utf8')
    assert.equal(proxy.withheld(), withheld === undefined ? 0 : 1, ended.stderr)
    return { ...ended, result: JSON.parse(file('load.json')), report: file('load.html') }
  }
}

const MIX = ['--everyone', '500ms', '--receipts', '--documents', '3', '--joins', '2', '--records', '10']

test('a mix of everything is whole: exit code 0, figures and plots', { timeout: 150_000 }, async (t) => {
  // clients leave only when they have all records to everyone: time for these also on a busy machine
  const { code, stdout, stderr, result, report } = await load(t, [
    ...MIX, '--everyone', '3s', '--hold', '9s', '--churn', '25', '--activity', '50', '--msgpack', '30', '--settle', '30s'
  ])
  assert.equal(code, 0, stdout + stderr)
  assert.deepEqual(result.problems, [])
  assert.ok(result.published.everyone >= 2 && result.published.documents >= 10, stdout)
  assert.ok(result.summary.left > 0 && result.summary.reconnects === result.summary.left, stdout)
  assert.ok(result.summary.acknowledged > 0)
  assert.match(stdout, /no delivery and no receipt is missing/)
  const metrics = await cluster.metrics()
  for (const event of ['doc:signal', 'doc:join', 'doc:send', 'doc:leave'])
    assert.match(metrics, new RegExp(`^inkcast_client_events_total\\{event="${event}",result="ok",.*\\} [1-9]`, 'm'))
  assert.ok(!stdout.includes('\u001b'), 'no live view: it is no terminal')
  assert.match(report, /uPlot/)
  assert.match(report, /No delivery and no receipt is missing/)
})

test('records in bursts, in one request each: exit code 0', { timeout: 150_000 }, async (t) => {
  const { code, stdout, stderr, result } = await load(t, [
    '--documents', '3', '--records', '40', '--burst', '20', '--hold', '6s'
  ])
  assert.equal(code, 0, stdout + stderr)
  assert.ok(result.published.documents >= 20 && result.published.documents % 20 === 0, stdout)
  assert.ok(result.summary.deliveries >= 4 * result.published.documents - 80, stdout)
})

test('long polling: exit code 0', { timeout: 150_000 }, async (t) => {
  const { run } = commandFolder(t)
  const { code, stdout, stderr } = await run([
    'load', '-n', '8', '--hold', '2s', ...MIX, '--polling', '50', '--settle', '30s', '--url', cluster.url, '--api',
    cluster.apiUrl, '--admin', cluster.adminUrl
  ])
  assert.equal(code, 0, stdout + stderr)
})

for (const [name, text, problem] of /** @type {[string, string, RegExp][]} */ ([
  ['a record to everyone', '"n":2,', /^[1-9]\d* deliveries of records to everyone are missing$/m],
  ['a record of a document', '"n":3,', /^[1-9]\d* records of documents were skipped$/m]
])) {
  test(`one delivery is withheld, ${name}: exit code 1`, { timeout: 150_000 }, async (t) => {
    const only = name.endsWith('everyone') ? ['--everyone', '500ms'] : ['--documents', '1', '--records', '10']
    const { code, stdout, stderr, report } = await load(t, [...only, '--settle', '2s'], text)
    assert.equal(code, 1, stdout + stderr)
    assert.match(stdout, problem)
    assert.match(report, new RegExp(problem.source.slice(1, -1)))
  })
}

test('metrics of all processes are merged, and readiness names each of them', async (t) => {
  const clients = await Promise.all(Array.from({ length: 10 }, () => connectClient(t, cluster.url)))
  const text = await cluster.metrics()
  const value = Number(/^inkcast_connections\{.*transport="websocket".*\} (\d+)$/m.exec(text)?.[1])
  assert.ok(value >= clients.length, text.split('\n').filter((line) => line.startsWith('inkcast_connections')).join())
  const body = /** @type {any} */ (await (await fetch(`${cluster.adminUrl}/ready`)).json())
  assert.deepEqual(
    body.processes.map((/** @type {any} */ { name }) => name).sort(), ['api-0', 'gateway-0', 'gateway-1', 'launcher'])
})
