import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../helpers/cluster.js'
import { connectClient, connectToWorkers, createClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { seededRandom } from '../helpers/random.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
/** Revocations, each of another user; REVOKES=1000 for a long run. */
const REVOKES = Number(process.env.REVOKES ?? 200)
/** At the same time. */
const LANES = 12
const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 32))

/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
before(async () => {
  cluster = await startCluster(scope, {
    WORKERS: '2', REDIS_URL, AUTH_JWT_SECRET: SECRET, MAX_HANDSHAKES_PER_SECOND: '10000', MAX_EVENTS_PER_SECOND: '10000'
  })
}, { timeout: 90_000 })

/** @param {string} method @param {string} path @param {Record<string, string>} [headers] */
async function order (method, path, headers) {
  const answer = await fetch(cluster.apiUrl + path, { method, headers })
  assert.equal(answer.status, 202, path)
  return /** @type {any} */ (await answer.json())
}

/** @param {import('node:test').TestContext} t */
const scopeOf = (t) => {
  /** @type {(() => unknown)[]} */
  const stops = []
  t.after(() => { for (const stop of stops.splice(0)) stop() })
  return {
    after: (/** @type {() => unknown} */ stop) => { stops.push(stop) },
    end () { for (const stop of stops.splice(0)) stop() }
  }
}

test(`after the answer to a revoke its user gets nothing, in ${REVOKES} revocations that race with joins`, { timeout: 600_000 }, async (t) => {
  const random = seededRandom(seed)
  const seen = { revokes: 0, connections: 0, onTwoWorkers: 0, joinsBefore: 0, leaked: 0, opened: 0, records: 0 }
  const problems = /** @type {string[]} */ ([])

  /** @param {string} guid document of this lane @param {any} witness */
  async function round (guid, witness) {
    const uid = `user-${randomUUID()}`
    const token = await signToken({ sub: uid, iat: Math.floor(Date.now() / 1000) - 5 })
    const own = scopeOf(t)
    try {
      const transports = () => [random() < 0.4 ? 'polling' : 'websocket']
      const position = witness.position
      const clients = await Promise.all(Array.from({ length: 3 }, () =>
        connectClient(own, cluster.url, { auth: { token }, transports: transports() })))
      const isOpen = new Set()
      let isRevoked = false
      /** @param {any} client @param {boolean} resumes */
      const join = async (client, resumes) => {
        const asked = isRevoked
        const answer = await client.ask('doc:join', { guid, ...(resumes && { position }), members: random() < 0.3 })
        if (!answer.ok) return
        isOpen.add(client)
        if (asked) problems.push(`${uid} joined after the answer`)
        else seen.joinsBefore++
      }
      const racing = clients.map(async (client, i) => {
        for (let k = 0; k < 3; k++) {
          await delay(random() * 8)
          await join(client, i === 1).catch(() => {})
          if (random() < 0.5) await client.ask('doc:leave', { guid }).catch(() => {})
        }
      })
      // a connection that opens the document in its handshake, from an older position
      const resuming = { token, documents: { [guid]: position } }
      const late = createClient(own, cluster.url, { auth: resuming, transports: transports() })
      await delay(random() * 15)
      const { connections, workers } = await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid })
      isRevoked = true
      seen.revokes++
      seen.connections += connections
      if (workers === 2) seen.onTwoWorkers++
      const marker = randomUUID()
      const all = [...clients, late]
      await cluster.post(`/v1/documents/${guid}/broadcast`, marker, { 'x-event': 'edit' })
      await Promise.all(racing)
      const after = createClient(own, cluster.url, { auth: resuming, transports: transports() })
      await Promise.all([...clients, after].map(async (client) => {
        if (!client.connected) await client.next('connect')
        for (const [event, input] of /** @type {[string, object][]} */ ([
          ['doc:join', { guid }],
          ['doc:join', { guid, position, members: true }],
          ['doc:history', { guid }],
          ['doc:members', { guid }],
          ['doc:signal', { guid, event: 'cursor', data: 1 }],
          ['doc:send', { guid, event: 'edit', data: marker }]
        ])) {
          const answer = await client.ask(event, input)
          if (answer.ok) {
            seen.opened++
            problems.push(`${uid}: ${event} after the answer`)
          }
        }
      }))
      await waitFor(() => witness.has(marker), { message: 'the marker' })
      for (const client of [...all, after]) {
        if (client.received.some(({ payload }) => payload === marker)) {
          seen.leaked++
          problems.push(`${uid} got a record that was published after the answer`)
        }
      }
    } finally {
      own.end()
    }
  }

  async function lane () {
    const guid = `document-${randomUUID()}`
    const token = await signToken({ sub: `witness-${randomUUID()}` })
    const [client] = await connectToWorkers(t, cluster.url, 1, 1, () => ({ auth: { token } }))
    const { position } = await client.ask('doc:join', { guid })
    /** Older than everything that follows; the replay is short because `position` moves on. */
    const markers = new Set()
    const witness = { position, has: (/** @type {string} */ marker) => markers.has(marker) }
    client.onAny((event, payload, meta) => {
      if (event !== 'edit') return
      markers.add(payload)
      seen.records++
      if (meta.offset > 20) witness.position = { epoch: position.epoch, offset: meta.offset - 20 }
    })
    let writing = true
    const writer = (async () => {
      for (let i = 0; writing; i++) {
        await cluster.post(`/v1/documents/${guid}/broadcast`, i, { 'x-event': 'edit' })
        await delay(20)
      }
    })()
    while (started++ < REVOKES && problems.length === 0) await round(guid, witness)
    writing = false
    await writer
  }
  let started = 0
  await Promise.all(Array.from({ length: LANES }, lane))
  assert.deepEqual(problems, [], `seed ${seed}`)
  const { revokes, leaked, opened } = seen
  assert.deepEqual({ revokes, leaked, opened }, { revokes: REVOKES, leaked: 0, opened: 0 })
  // the race is one: many were in the document, on both workers, when they were revoked
  assert.ok(seen.connections > REVOKES / 4 && seen.onTwoWorkers > REVOKES / 50, JSON.stringify(seen))
  t.diagnostic(JSON.stringify(seen))
})

test('revokes, bans and restores hold on every worker, also for one that starts later', async (t) => {
  const [uid, guid] = [`user-${randomUUID()}`, `document-${randomUUID()}`]
  const token = await signToken({ sub: uid, iat: Math.floor(Date.now() / 1000) - 5 })
  const tabs = await connectToWorkers(t, cluster.url, 2, 4, () => ({ auth: { token } }))
  for (const tab of tabs) assert.equal((await tab.ask('doc:join', { guid })).ok, true)
  const told = tabs.map((tab) => tab.next('doc:closed'))
  const closed = await order('DELETE', `/v1/documents/${guid}/connections?code=moved`)
  assert.deepEqual([closed.connections, closed.workers], [tabs.length, 2])
  for (const [payload] of await Promise.all(told)) assert.deepEqual(payload, { guid, code: 'moved' })
  const joined = await order('POST', `/v1/users/${uid}/documents/${guid}`)
  assert.deepEqual([joined.connections, joined.workers], [tabs.length, 2])
  const revoked = await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid, 'x-ttl': '600' })
  assert.deepEqual([revoked.connections, revoked.workers], [tabs.length, 2])
  const newer = await signToken({ sub: uid, iat: Math.floor(Date.now() / 1000) + 1 })
  const more = await connectToWorkers(t, cluster.url, 2, 4, () => ({ auth: { token: newer } }))
  for (const tab of [...tabs, ...more]) assert.equal((await tab.ask('doc:join', { guid })).error.code, 'forbidden')
  await order('POST', `/v1/documents/${guid}/restore`, { 'x-uid': uid })
  for (const tab of [...tabs, ...more]) assert.equal((await tab.ask('doc:join', { guid })).ok, true)
  const kicked = await order('DELETE', `/v1/users/${uid}/connections`, { 'x-ttl': '600' })
  assert.deepEqual([kicked.connections, kicked.workers], [tabs.length + more.length, 2])
  for (let i = 0; i < 6; i++) {
    await assert.rejects(
      connectClient(t, cluster.url, { auth: { token: newer } }),
      (/** @type {any} */ error) => error.data?.code === 'banned'
    )
  }
  await order('POST', `/v1/users/${uid}/restore`)
  await connectToWorkers(t, cluster.url, 2, 2, () => ({ auth: { token: newer } }))
})
