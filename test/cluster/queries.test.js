import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { connectToWorkers } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'

test('documents, connections and processes of two machines are found from each of them', { timeout: 180_000 }, async (t) => {
  const REDIS_URL = await ownRedisUrl(t)
  const [here, there] = await Promise.all([
    startCluster(t, { WORKERS: '2', REDIS_URL }), startCluster(t, { WORKERS: '1', REDIS_URL })
  ])
  const get = async (/** @type {string} */ path, machine = there) => {
    const answer = await fetch(machine.apiUrl + path)
    return /** @type {any} */ ({ status: answer.status, ...await answer.json() })
  }
  const clients = [...await connectToWorkers(t, here.url, 2, 4), ...await connectToWorkers(t, there.url, 1, 2)]
  const prefix = `${randomUUID()}/`
  const guids = Array.from({ length: 25 }, (_, i) => `${prefix}${String(i).padStart(2, '0')}`)
  // the first document is open everywhere, the others on one worker each
  await Promise.all(guids.map((guid, i) => clients[i % clients.length].ask('doc:join', { guid })))
  await Promise.all(clients.slice(1).map((client) => client.ask('doc:join', { guid: guids[0] })))
  await here.post(`/v1/documents/${encodeURIComponent(guids[0])}/broadcast`, 1)

  /** @type {any[]} */
  let found = []
  await waitFor(async () => {
    found = []
    for (let cursor; ;) {
      const page = await get(`/v1/documents?prefix=${encodeURIComponent(prefix)}&limit=10${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`)
      found.push(...page.documents)
      cursor = page.cursor
      if (cursor === undefined) break
    }
    return found.length === guids.length && found[0].members === clients.length
  }, { timeout: 20_000, message: () => JSON.stringify(found) })
  assert.deepEqual(found.map(({ guid }) => guid), guids)
  assert.equal(found[0].position.offset, 1)
  for (const { members, position } of found.slice(1)) assert.deepEqual([members, position.offset], [1, 0])

  const sid = /** @type {string} */ (clients[0].id)
  const { uid, session } = await get(`/v1/sockets/${sid}`)
  assert.match(uid, /^anonymous:/)
  assert.ok(session.documents.includes(guids[0]))
  assert.deepEqual((await get(`/v1/users/${encodeURIComponent(uid)}/sessions`)).sessions, [session])
  const otherSid = sid.slice(0, -1) + (sid.endsWith('_') ? '-' : '_')
  assert.equal((await get(`/v1/sockets/${otherSid}`)).error.code, 'not_found')

  const overview = () => get('/v1/overview', here)
  await waitFor(async () => (await overview()).connections === clients.length, {
    timeout: 20_000, message: async () => JSON.stringify(await overview())
  })
  const { workers, documents, processes } = await overview()
  assert.equal(workers, 3)
  assert.ok(documents >= guids.length, String(documents))
  assert.deepEqual(processes.map((/** @type {any} */ { name }) => name), [
    'api-0', 'api-0', 'gateway-0', 'gateway-0', 'gateway-1'
  ])
  assert.ok(processes.some((/** @type {any} */ { worker }) => worker === session.worker))

  for (const client of clients) client.disconnect()
  await waitFor(async () => (await get(`/v1/documents?prefix=${encodeURIComponent(prefix)}`)).documents.length === 0, {
    timeout: 20_000
  })
  await there.stop()
  assert.deepEqual((await overview()).processes.map((/** @type {any} */ { name }) => name), ['api-0', 'gateway-0', 'gateway-1'])
})
