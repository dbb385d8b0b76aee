import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { BACKENDS } from '../helpers/backends.js'
import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { recordingLog } from '../helpers/recording-log.js'
import { startRelay } from '../helpers/relay.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis, startRedisCluster } from '../services/redis.js'
import { fresh } from './bus-fixture.js'

/** @typedef {import('node:test').TestContext} TestContext */

/** Name of the separate connection in CLIENT LIST. */
const nameOf = (/** @type {string} */ name) => `inkcast-${name}-rooms`

/**
 * Connects, and subscribes to the channels with these prefixes.
 * @param {TestContext} t
 * @param {string} url
 * @param {string[]} prefixes
 */
async function subscribe (t, url, prefixes) {
  const name = fresh('worker')
  const redis = testRedis({ urls: url.split(','), name, log: recordingLog().log })
  t.after(() => redis.stop())
  await redis.start()
  /** @type {[channel: string, payload: string][]} */
  const messages = []
  const subscriber = redis.subscribePatterns(prefixes, (channel, payload) => {
    messages.push([channel, payload.toString()])
  })
  t.after(() => subscriber.stop())
  await subscriber.start()
  return { redis, subscriber, messages, name }
}

/** @param {TestContext} t @param {string} url @returns {Redis} a client to one server */
function connect (t, url) {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => 50 })
  client.on('error', () => {})
  t.after(() => client.disconnect())
  return client
}

/** @param {Redis} client @param {string} name @returns {Promise<string[]>} ids of the connections with this name */
async function connectionsOf (client, name) {
  const lines = String(await client.client('LIST')).split('\n').filter((line) => line.includes(` name=${name} `))
  return lines.map((line) => String(/^id=(\d+)/.exec(line)?.[1]))
}

/**
 * Publishes until a message arrives: some may be lost during a reconnect.
 * @param {Redis} publisher
 * @param {Awaited<ReturnType<typeof subscribe>>['messages']} messages
 * @param {string} channel
 */
async function arrives (publisher, messages, channel) {
  const text = fresh('again')
  await waitFor(async () => {
    await publisher.publish(channel, text)
    return messages.some(([, payload]) => payload === text)
  }, { timeout: 15_000, message: `a message on ${channel}` })
}

for (const [what, url] of BACKENDS) {
  test(`${what}: messages of all channels with a prefix arrive in order, from every node`, async (t) => {
    const prefix = fresh('key')
    const { messages } = await subscribe(t, url(), [`${prefix}#`, `${prefix}-request#`])
    for (const node of url().split(',')) {
      messages.length = 0
      const publisher = connect(t, node)
      const channels = [`${prefix}#/#`, `${prefix}#/chat#a room#`, `${prefix}-request#/#`, `${prefix}#größer`]
      for (const other of [prefix, `${prefix}-response#/#`, `x${prefix}#`]) await publisher.publish(other, 'no')
      for (const channel of channels) await publisher.publish(channel, channel)
      await waitFor(() => messages.length >= channels.length, { message: () => messages })
      assert.deepEqual(messages, channels.map((channel) => [channel, channel]))
    }
  })

  test(`${what}: characters with a meaning in patterns stand for themselves`, async (t) => {
    const id = fresh('key')
    const prefixes = ['*', '?', '[ab]', '[^a]', '\\', '\\*', 'a]b['].map((special) => `${id}${special}#`)
    const { messages } = await subscribe(t, url(), prefixes)
    const publisher = connect(t, url().split(',')[0])
    for (const other of ['x', 'xx', 'a', 'b', '', '*x', 'ab']) await publisher.publish(`${id}${other}#/#`, 'no')
    for (const prefix of prefixes) await publisher.publish(`${prefix}/#`, prefix)
    await waitFor(() => messages.length >= prefixes.length, { message: () => messages })
    assert.deepEqual(messages, prefixes.map((prefix) => [`${prefix}/#`, prefix]))
  })
}

test('a connection that is closed is opened again, and only one', async (t) => {
  const key = fresh('key')
  const { messages, name } = await subscribe(t, redisUrl(), [`${key}#`])
  const admin = connect(t, redisUrl())
  for (let i = 0; i < 3; i++) {
    const [id, ...more] = await connectionsOf(admin, nameOf(name))
    assert.deepEqual(more, [])
    await admin.client('KILL', 'ID', id)
    await arrives(admin, messages, `${key}#/#`)
    assert.notEqual((await connectionsOf(admin, nameOf(name)))[0], id)
  }
})

test('after Redis was gone, messages arrive again', { timeout: 120_000 }, async (t) => {
  const server = await startRedis()
  const { messages } = await subscribe(t, server.url, ['key#'])
  const publisher = connect(t, server.url)
  await arrives(publisher, messages, 'key#/#')
  await server.stop()
  const again = await startRedis({ port: server.port })
  t.after(() => again.stop())
  await arrives(publisher, messages, 'key#/#')
})

test('a subscriber that starts while Redis is gone, subscribes when it is back', { timeout: 120_000 }, async (t) => {
  const server = await startRedis()
  const redis = testRedis({ urls: [server.url], name: 'test', log: recordingLog().log })
  t.after(() => redis.stop())
  await redis.start()
  await server.stop()
  /** @type {[string, string][]} */
  const messages = []
  const subscriber = redis.subscribePatterns(['key#'], (channel, payload) => {
    messages.push([channel, payload.toString()])
  })
  t.after(() => subscriber.stop())
  await subscriber.start()
  const again = await startRedis({ port: server.port })
  t.after(() => again.stop())
  await arrives(connect(t, server.url), messages, 'key#/#')
})

test('when another server has the address, messages arrive from there, though the old one lives', async (t) => {
  const [one, two] = await Promise.all([startRedis(), startRedis()])
  t.after(() => Promise.all([one.stop(), two.stop()]))
  let leadsTo = one.port
  const relay = await startRelay(() => leadsTo, (client, upstream) => { client.pipe(upstream).pipe(client) })
  t.after(() => relay.stop())
  const { messages, name } = await subscribe(t, `redis://127.0.0.1:${relay.port}`, ['key#'])
  const [first, second] = [connect(t, one.url), connect(t, two.url)]
  await arrives(first, messages, 'key#/#')
  leadsTo = two.port
  const [commands] = await connectionsOf(first, `inkcast-${name}`)
  await first.client('KILL', 'ID', commands)
  await arrives(second, messages, 'key#/#')
  await waitFor(async () => (await connectionsOf(first, nameOf(name))).length === 0, { message: 'the old one to close' })
})

test('Redis Cluster: when its node fails, another one delivers', { timeout: 120_000 }, async (t) => {
  const cluster = await startRedisCluster()
  t.after(() => cluster.stop())
  const { messages, name } = await subscribe(t, cluster.url, ['key#'])
  const clients = cluster.nodes.map(({ url }) => connect(t, url))
  const counts = await Promise.all(clients.map(async (client) => (await connectionsOf(client, nameOf(name))).length))
  assert.deepEqual([...counts].sort(), [0, 0, 1])
  const failing = counts.indexOf(1)
  const publisher = clients[(failing + 1) % 3]
  await arrives(publisher, messages, 'key#/#')
  await cluster.nodes[failing].stop()
  await arrives(publisher, messages, 'key#/#')
})

test('Redis Cluster: it reconnects when its own node goes, not when another one does', async (t) => {
  const key = fresh('key')
  const { redis, messages, name } = await subscribe(t, redisClusterUrl(), [`${key}#`])
  const clients = redisClusterUrl().split(',').map((url) => connect(t, url))
  const subscribed = () => Promise.all(clients.map((client) => connectionsOf(client, nameOf(name))))
  const before = await subscribed()
  const own = before.findIndex(({ length }) => length === 1)
  assert.notEqual(own, -1, JSON.stringify(before))
  /** @param {Redis} client to the node whose connection is closed */
  async function closeCommands (client) {
    const ids = await connectionsOf(client, `inkcast-${name}`)
    assert.ok(ids.length > 0)
    const back = new Promise((resolve) => { redis.onBack(() => resolve(undefined)) })
    for (const id of ids) await client.client('KILL', 'ID', id)
    await back
  }
  for (const client of clients) if (client !== clients[own]) await closeCommands(client)
  await delay(200)
  assert.deepEqual(await subscribed(), before)
  await closeCommands(clients[own])
  await waitFor(async () => {
    const after = await subscribed()
    // each node counts its clients itself: ids of two nodes may be equal
    return after.flat().length === 1 && after[own][0] !== before[own][0]
  }, { message: 'another connection' })
  await arrives(clients[own], messages, `${key}#/#`)
})

test('nothing arrives after stop, and no connection remains', async (t) => {
  const key = fresh('key')
  const { subscriber, messages, name } = await subscribe(t, redisUrl(), [`${key}#`])
  const admin = connect(t, redisUrl())
  await arrives(admin, messages, `${key}#/#`)
  subscriber.stop()
  await waitFor(async () => (await connectionsOf(admin, nameOf(name))).length === 0, { message: 'no connection' })
  await admin.publish(`${key}#/#`, 'late')
  await delay(200)
  assert.ok(!messages.some(([, payload]) => payload === 'late'))
  assert.deepEqual(await connectionsOf(admin, nameOf(name)), [])
})
