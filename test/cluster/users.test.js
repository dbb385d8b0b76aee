import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { connectClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
/** @type {Awaited<ReturnType<typeof topics.producer>>} */
let producer
before(async () => {
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, AUTH_JWT_SECRET: SECRET, ...topics.env })
  producer = await topics.producer()
}, { timeout: 90_000 })

/** @param {Record<string, string>} headers @param {unknown} [value] */
const publish = (headers, value = {}) =>
  producer.send({
    topic: topics.downlink,
    messages: [{ key: headers['x-guid'] ?? headers['x-uid'] ?? '*', value: JSON.stringify(value), headers }]
  })

/**
 * Opens tabs of one user until both workers have one.
 * @param {import('node:test').TestContext} t
 * @param {string} uid
 */
async function tabsOnBothWorkers (t, uid) {
  const token = await signToken({ sub: uid })
  const tabs = []
  do
    tabs.push(
      await connectClient(t, cluster.url, {
        auth: { token },
        transports: tabs.length % 3 === 2 ? ['polling'] : ['websocket']
      })
    )
  while (tabs.length < 4 || (new Set(tabs.map(({ id }) => id?.slice(0, 2))).size < 2 && tabs.length < 60))
  assert.equal(new Set(tabs.map(({ id }) => id?.slice(0, 2))).size, 2, 'both workers have a tab')
  return tabs
}

test('a user record reaches all tabs of its user on both workers and no other user', async (t) => {
  const uid = `user-${randomUUID()}`
  const tabs = await tabsOnBothWorkers(t, uid)
  const stranger = await connectClient(t, cluster.url, {
    auth: { token: await signToken({ sub: `stranger-${randomUUID()}` }) }
  })
  await publish({ 'x-operator': 'user', 'x-uid': uid, 'x-event': 'hello' }, { to: uid })
  await waitFor(() => tabs.every(({ received }) => received.length === 1), {
    message: () => tabs.map(({ received }) => received.length)
  })
  assert.deepEqual(tabs.map(({ received }) => received[0].payload), tabs.map(() => ({ to: uid })))
  assert.equal(tabs[0].received[0].event, 'hello')
  assert.equal(stranger.received.length, 0)
})

test('a socket record reaches one tab', async (t) => {
  const tabs = await tabsOnBothWorkers(t, `user-${randomUUID()}`)
  for (const tab of tabs) await publish({ 'x-operator': 'socket', 'x-sid': String(tab.id) }, { for: tab.id })
  await waitFor(() => tabs.every(({ received }) => received.length === 1), {
    message: () => tabs.map(({ received }) => received.length)
  })
  assert.deepEqual(tabs.map(({ received }) => received[0].payload.for), tabs.map(({ id }) => id))
})

test('kick disconnects all tabs of a user with a code, unlike a network loss', async (t) => {
  const uid = `user-${randomUUID()}`
  const tabs = await tabsOnBothWorkers(t, uid)
  const ends = tabs.map(async (tab) => {
    const [told, reason] = await Promise.all([tab.next('gateway:disconnect'), tab.next('disconnect')])
    return { code: told[0].code, retryable: told[0].retryable, reason: reason[0] }
  })
  await publish({ 'x-operator': 'kick', 'x-uid': uid })
  assert.deepEqual(
    await Promise.all(ends),
    tabs.map(() => ({ code: 'kicked', retryable: false, reason: 'io server disconnect' }))
  )
})

test('kick by connection leaves the other tabs of the user alone', async (t) => {
  const tabs = await tabsOnBothWorkers(t, `user-${randomUUID()}`)
  const gone = tabs[0].next('disconnect')
  await publish({ 'x-operator': 'kick', 'x-sid': String(tabs[0].id) })
  await gone
  const rest = tabs.slice(1)
  for (const tab of rest) assert.equal(tab.connected, true)
})

test('revoke removes a user from one document, on every worker', async (t) => {
  const uid = `user-${randomUUID()}`
  const tabs = await tabsOnBothWorkers(t, uid)
  const [guid, other] = [`document-${randomUUID()}`, `document-${randomUUID()}`]
  for (const tab of tabs)
    for (const document of [guid, other]) assert.equal((await tab.ask('doc:join', { guid: document })).ok, true)
  const revoked = tabs.map((tab) => tab.next('doc:revoked'))
  await publish({ 'x-operator': 'revoke', 'x-uid': uid, 'x-guid': guid })
  assert.deepEqual((await Promise.all(revoked)).map(([{ guid }]) => guid), tabs.map(() => guid))
  for (const tab of tabs) tab.received.length = 0
  await publish({ 'x-operator': 'broadcast', 'x-guid': guid }, 'not for you')
  await publish({ 'x-operator': 'broadcast', 'x-guid': other }, 'still yours')
  await waitFor(() => tabs.every(({ received }) => received.length > 0), {
    message: () => tabs.map(({ received }) => received.length)
  })
  assert.deepEqual(tabs.map(({ received }) => received.map(({ payload }) => payload)), tabs.map(() => ['still yours']))
})

test('a token decides which documents may be opened and written; without one, connections are refused', async (t) => {
  await assert.rejects(
    connectClient(t, cluster.url),
    (/** @type {any} */ error) => error.data?.code === 'unauthorized' && error.data.retryable === false
  )
  const client = await connectClient(t, cluster.url, {
    auth: { token: await signToken({ sub: 'reader', documents: [{ guid: 'open-*', access: 'read' }] }) }
  })
  assert.equal((await client.ask('doc:join', { guid: 'closed-1' })).error.code, 'forbidden')
  assert.equal((await client.ask('doc:join', { guid: 'open-1' })).ok, true)
  assert.equal((await client.ask('doc:send', { guid: 'open-1', data: 1 })).error.code, 'forbidden')
})
