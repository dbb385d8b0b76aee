import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Cluster } from 'ioredis'
import { connectClient } from '../helpers/clients.js'
import { codeBlocks, commandsOf } from '../helpers/code-blocks.js'
import { redisClusterUrl } from '../helpers/env.js'
import { startOwnRedis } from '../helpers/own-redis.js'
import { startRoles } from '../helpers/roles.js'
import { SECRET as JWT_SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { SECRET, startWebhookService } from '../helpers/webhook-service.js'

/** Two applications on one Redis, by REDIS_PREFIX, with the same documents, users, callers and keys of requests. */

const { server, redis: admin } = await startOwnRedis('admin')

const TOKEN = 'a-token-of-both-applications'
const guid = 'plan'

/** The command of docs/operations/redis.md, for another user. @param {string} name @returns {string[]} its arguments */
function aclOf (name) {
  const command = codeBlocks().filter(({ file }) => file === 'docs/operations/redis.md')
    .flatMap(({ code }) => commandsOf(code)).find((line) => line.startsWith('redis-cli ACL SETUSER '))
  const [, , , user, ...rules] = String(command).replaceAll('\'', '').split(' ')
  assert.equal(user, 'shop')
  return [name, ...rules.map((rule) => rule.replace('shop', name))]
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} prefix
 * @param {string} redisUrl
 */
async function startApplication (t, prefix, redisUrl) {
  const service = await startWebhookService(t)
  const cluster = await startRoles(t, {
    WORKERS: '1', REDIS_URL: redisUrl, REDIS_PREFIX: prefix, AUTH_JWT_SECRET: JWT_SECRET, API_TOKENS: `editor:${TOKEN}`,
    UPLINK_URL: service.url, UPLINK_SECRETS: SECRET, PRESENCE_GRACE: '0'
  })
  const client = await connectClient(t, cluster.url, { auth: { token: await signToken({ sub: 'ada', name: prefix }) } })
  client.on('message', (_payload, _meta, acknowledge) => acknowledge?.())
  const headers = { authorization: `Bearer ${TOKEN}` }
  return {
    prefix, client, service,
    /** @param {string} path @param {string} [method] @returns {Promise<any>} */
    async ask (path, method = 'GET') {
      const answer = await fetch(cluster.apiUrl + path, { method, headers })
      assert.ok(answer.status < 300, `${path}: ${answer.status}`)
      return answer.status === 204 ? undefined : answer.json()
    },
    /** @param {string} path @param {unknown} value @param {Record<string, string>} [more] */
    async publish (path, value, more) {
      const { status, body } = await cluster.post(path, value, { ...headers, ...more })
      assert.equal(status, 202, JSON.stringify(body))
      return body
    },
    values: () => client.received.filter(({ event }) => event === 'message').map(({ payload }) => payload.from)
  }
}

/** @typedef {Awaited<ReturnType<typeof startApplication>>} Application */

/** @param {any} record @returns {string} the application that published it */
const sender = ({ value }) => value.from
/** @param {Application['service']} service */
const receiptsOf = ({ events }) => events.filter(({ type }) => type.endsWith('receipt'))

/**
 * Everything that reaches a client, a service or a reader, with the same names in both.
 * @param {Application[]} applications
 */
async function assertApart (applications) {
  for (const { client, prefix } of applications) {
    const joined = await client.ask('doc:join', { guid, members: true, state: { of: prefix } })
    assert.deepEqual([joined.count, joined.position.offset], [1, 0], prefix)
  }
  for (const { publish, prefix } of applications) {
    const from = { from: prefix }
    const once = { 'idempotency-key': 'the-same', 'x-receipt': 'true' }
    assert.equal((await publish(`/v1/documents/${guid}/broadcast`, from, once)).position.offset, 1)
    await publish('/v1/users/ada/send', from, { 'x-keep': 'true' })
    await publish('/v1/broadcast', from)
    // the same request again: the answer of the first one
    assert.equal((await publish(`/v1/documents/${guid}/broadcast`, from, once)).position.offset, 1)
  }
  for (const { ask, service, values, prefix } of applications) {
    await waitFor(() => values().length >= 3, { message: () => values().join() })
    assert.deepEqual(values(), [prefix, prefix, prefix])
    assert.deepEqual((await ask(`/v1/documents/${guid}/history`)).records.map(sender), [prefix])
    assert.deepEqual((await ask('/v1/users/ada/history')).records.map(sender), [prefix])
    const { members } = await ask(`/v1/documents/${guid}/presence`)
    assert.deepEqual(members.map((/** @type {any} */ { uid, state }) => [uid, state.of]), [['ada', prefix]])
    await waitFor(async () => (await ask('/v1/users/ada/sessions')).sessions.length === 1)
    await waitFor(() => receiptsOf(service).length > 0, { message: () => JSON.stringify(service.events) })
  }
  const [first, second] = applications
  const ended = first.client.next('disconnect')
  // orders are refused for some seconds after the first worker of an empty Redis: one that changes nothing shows it
  await waitFor(() => first.ask('/v1/users/ada/restore', 'POST'), { timeout: 15_000 })
  const { connections } = await first.ask('/v1/users/ada/connections', 'DELETE')
  assert.equal(connections, 1)
  await ended
  await second.publish(`/v1/documents/${guid}/broadcast`, { from: 'last' })
  await waitFor(() => second.values().includes('last'))
  assert.equal(second.client.connected, true)
  for (const { service } of applications) {
    assert.deepEqual(receiptsOf(service).map(({ data }) => data.delivered), [1])
  }
}

/**
 * @param {import('ioredis').Redis} node
 * @returns {Promise<string[]>} its keys, and the channels that have subscribers
 */
async function namesOf (node) {
  const lists = await Promise.all([node.keys('*'), node.pubsub('SHARDCHANNELS'), node.pubsub('CHANNELS')])
  return /** @type {string[]} */ (lists.flat())
}

test('applications on one Redis are apart, each with a Redis user that may use no other name', async (t) => {
  const applications = await Promise.all(['shop', 'news'].map(async (name) => {
    await admin.client.call('ACL', 'SETUSER', ...aclOf(name))
    return startApplication(t, name, server.url.replace('redis://', `redis://${name}:a-long-password@`))
  }))
  const node = /** @type {import('ioredis').Redis} */ (admin.client)
  await assertApart(applications)
  const names = await namesOf(node)
  assert.deepEqual(names.filter((name) => !/^(?:shop|news):/.test(name)), [])
  for (const wanted of ['{d:plan}:log', '{workers}:expiry', 'everyone', 'rooms#/#', '{uplink:0}'])
    assert.ok(names.includes(`shop:${wanted}`), names.join())
  const refused = /** @type {unknown[]} */ (await node.acl('LOG'))
  assert.deepEqual(refused, [])
})

test('applications on one Redis Cluster are apart', async (t) => {
  const names = ['a', 'b'].map((name) => `${name}-${randomUUID().slice(0, 8)}`)
  await assertApart(await Promise.all(names.map((name) => startApplication(t, name, redisClusterUrl()))))
  const cluster = new Cluster(redisClusterUrl().split(','))
  t.after(() => cluster.disconnect())
  await waitFor(() => cluster.nodes('master').length > 1)
  const found = (await Promise.all(cluster.nodes('master').map(namesOf))).flat()
  for (const name of names) assert.ok(found.filter((key) => key.startsWith(`${name}:{d:`)).length > 5, name)
})
