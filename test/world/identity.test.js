import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { slotOf } from '../simulation/parts/redis/keys-of.js'
import { follow } from '../simulation/script/follower.js'

const { documentLog } = createKeys()

/**
 * All ways in which the Redis of a cluster can differ from the one that its processes knew, or seem to: a
 * document has ten records, and `saved` has five of them.
 *
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/parts/redis/server.js').RedisServer} RedisServer
 * @typedef {import('../simulation/parts/redis/replicated.js').ReplicatedRedis} ReplicatedRedis
 * @typedef {import('../../src/redis/store/store.js').Snapshot} Snapshot
 *
 * @typedef {object} Way
 * @property {import('../simulation/parts/redis/kinds.js').RedisKind} [redis]
 * @property {number} [seed]
 * @property {(server: RedisServer, saved: Snapshot, cluster: ScriptedCluster) => unknown} happens server: that of the
 *   document
 * @property {number} [keeps] records that are left of a document that begins another epoch; default: nothing is lost
 */

const SLOT = slotOf(documentLog('doc'))

/** @type {Record<string, Way>} */
const WAYS = {
  'a restart with all of its data': { keeps: 10, happens: (server) => server.restart(server.store.snapshot(), 1000) },
  'a restart with some of its data': { keeps: 5, happens: (server, saved) => server.restart(saved, 1000) },
  'a restart with none of its data': { keeps: 0, happens: (server) => server.restart(undefined, 1000) },
  'a restored snapshot, twice': {
    keeps: 5,
    async happens (server, saved, cluster) {
      server.restart(saved, 1000)
      await cluster.until(() => server.isAlive)
      for (let i = 0; i < 5; i++) await published(cluster, `lost-${i}`)
      server.restart(saved, 1000)
    }
  },
  FLUSHALL: { keeps: 0, happens: (server) => server.process.enter('FLUSHALL', () => server.store.keyspace.clear()) },
  'a failover to a replica that was behind, by Sentinel': {
    redis: 'replica', seed: 5, keeps: 5, happens: (server, saved, cluster) => failOver(cluster, true)
  },
  'a failover to a replica that was behind, whose address moves': {
    redis: 'replica', seed: 6, keeps: 5, happens: (server, saved, cluster) => failOver(cluster, false)
  },
  'a restart of a node of Redis Cluster with all of its data': {
    redis: 'shards', keeps: 10, happens: (server) => server.restart(server.store.snapshot(), 1000)
  },
  'a hash slot that moves to a node that has failed since': {
    redis: 'shards',
    keeps: 10,
    async happens (server, saved, cluster) {
      const other = moveSlot(server, cluster)
      other.restart(other.store.snapshot(), 1000)
      await cluster.until(() => other.isAlive)
    }
  },
  'a moved hash slot': { redis: 'shards', happens: (server, saved, cluster) => { moveSlot(server, cluster) } },
  'a hang': { happens: (server) => server.process.pause(1500) },
  'the loss of all connections': {
    happens: ({ process, store }) => process.enter('cut', () => {
      for (const connection of [...store.connections]) connection.destroy()
    })
  }
}

/**
 * The replica, which has got nothing for a while, takes over.
 * @param {ScriptedCluster} cluster
 * @param {boolean} bySentinel
 */
function failOver ({ redis }, bySentinel) {
  assert.equal(redis.url.startsWith('redis+sentinel:'), bySentinel)
  const replicated = /** @type {ReplicatedRedis} */ (redis)
  replicated.replica.process.resume()
  assert.ok(replicated.failOver())
}

/** @param {RedisServer} server @param {ScriptedCluster} cluster @returns {RedisServer} that has the slot then */
function moveSlot (server, cluster) {
  const redis = /** @type {import('../simulation/parts/redis/shards.js').ShardedRedis} */ (cluster.redis)
  const to = (redis.servers.indexOf(server) + 1) % redis.servers.length
  redis.move(SLOT, to, { perKey: 0, heard: () => 5 })
  return redis.servers[to]
}

/** @param {ScriptedCluster} cluster @returns {RedisServer} that has the document */
function serverOf ({ redis }) {
  if ('views' in redis) return redis.servers[redis.views[0][SLOT]]
  return 'master' in redis ? redis.master : redis.servers[0]
}

/** Publishes as soon as Redis takes it. @param {ScriptedCluster} cluster @param {unknown} value */
async function published (cluster, value) {
  for (let tries = 0; tries < 100; tries++) {
    const { status, body } = await cluster.request('POST', '/v1/documents/doc/broadcast', {
      value, headers: { 'idempotency-key': String(value) }
    })
    if (status < 300) return body.position
    await cluster.pass(250)
  }
  assert.fail('Redis takes no publication')
}

for (const [name, { redis, seed, happens, keeps }] of Object.entries(WAYS)) {
  const isSame = keeps === undefined
  test(`${name}: ${isSame ? 'the document keeps its epoch' : 'the document begins another epoch behind the records that are left'}`, () =>
    inCluster({ redis, seed, errors: ['redis'], env: { PUBLISH_WAIT: 'none' } }, async (cluster) => {
      const { values, resyncs } = await follow(cluster, 'ada', ['doc'])
      let before
      const shown = () => values.get('doc') ?? []
      for (let i = 1; i <= 5; i++) before = await published(cluster, i)
      const server = serverOf(cluster)
      const saved = server.store.snapshot()
      if (redis === 'replica') {
        await cluster.pass(2000)
        ;/** @type {ReplicatedRedis} */ (cluster.redis).replica.process.pause(60_000)
      }
      for (let i = 6; i <= 10; i++) before = await published(cluster, i)
      await happens(server, saved, cluster)
      const after = await published(cluster, 'next')
      await cluster.until(() => shown().at(-1) === 'next' || resyncs.length > 0, { message: shown })
      await cluster.pass(15_000)
      const { body } = await cluster.request('GET', '/v1/documents/doc/history?limit=100')
      const left = body.records.map((/** @type {any} */ { value }) => value)
      assert.equal(left.at(-1), 'next')
      assert.equal(after.offset, left.length)
      assert.equal(left.length, (isSame ? 10 : keeps) + 1)
      assert.equal(after.epoch === before.epoch, isSame)
      assert.deepEqual(new Set(resyncs.map(({ reason }) => reason)), new Set(isSame ? [] : ['epoch']))
      await published(cluster, 'last')
      await cluster.until(() => shown().at(-1) === 'last', { message: shown })
    }))
}
