import '../../simulation/world/patched-time.js'
import '../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { hashSlot } from '../../../src/redis/hash-slot.js'
import { ShardedRedis } from '../../simulation/parts/redis/shards.js'
import { inWorld } from './in-world.js'

/** Keys of the first server and of the last one. */
const [HERE, FAR] = ['b', 'a']
const SLOT = hashSlot(HERE)

/**
 * @typedef {object} Given
 * @property {ShardedRedis} shards
 * @property {Redis[]} nodes
 * @property {(node: Redis, ...command: string[]) => Promise<any>} said the reply, or the message of the error
 * @property {(ms: number) => Promise<void>} sleep
 */

/** @param {(given: Given) => Promise<void>} play */
const withShards = (play) => inWorld(async (client) => {
  const shards = new ShardedRedis(client.world)
  const nodes = shards.servers.map(({ address }) => new Redis(`redis://${address}`).on('error', () => {}))
  await play({
    shards,
    nodes,
    said: (node, command, ...args) => node.call(command, args).catch(({ message }) => message),
    sleep: (ms) => client.clock.sleep(ms)
  })
  for (const node of nodes) node.disconnect()
})

// Replies of a cluster of redis-server 7.0.15 to the same commands.
test('a shard answers for the keys and channels of its hash slots only', () => withShards(async ({ nodes, said }) => {
  const moved = 'MOVED 15495 redis-3:6379'
  const crossed = 'CROSSSLOT Keys in request don\'t hash to the same slot'
  const get = 'return redis.call(\'GET\', ARGV[1])'
  /** @type {[answer: unknown, ...command: string[]][]} */
  const cases = [
    [moved, 'SET', FAR, '1'], [moved, 'GET', FAR], [crossed, 'DEL', HERE, FAR],
    [crossed, 'EVAL', 'return 1', '2', HERE, FAR], [moved, 'EVAL', 'return 1', '1', FAR], [1, 'EVAL', 'return 1', '0'],
    [moved, 'SPUBLISH', FAR, 'x'], [moved, 'SSUBSCRIBE', FAR], [crossed, 'SSUBSCRIBE', HERE, FAR],
    ['OK', 'SET', HERE, '1'], ['1', 'GET', HERE]
  ]
  for (const [answer, ...command] of cases)
    assert.equal(await said(nodes[0], ...command), answer, command.join(' '))
  assert.match(await said(nodes[0], 'EVAL', get, '1', HERE, FAR),
    /^ERR Script attempted to access a non local key in a cluster node script: \w{40}, on @user_script:1\.$/)
}))

test('a hash slot that moves key by key is asked for at both servers', () => withShards(async (given) => {
  const { shards, nodes: [source, target, other], said, sleep } = given
  const [first, second, missing, none] = [HERE, `y{${HERE}}`, `n{${HERE}}`, `m{${HERE}}`]
  await source.set(first, '1')
  await source.set(second, '2')
  shards.move(SLOT, 1, { perKey: 10_000, heard: () => 1000 })
  // the first key has moved
  const ask = `ASK ${SLOT} redis-2:6379`
  const again = 'TRYAGAIN Multiple keys request during rehashing of slot'
  assert.equal(await said(source, 'GET', second), '2')
  assert.equal(await said(source, 'GET', missing), ask)
  assert.equal(await said(source, 'EXISTS', second, missing), again)
  assert.equal(await said(source, 'EXISTS', missing, none), ask)
  assert.equal(await said(source, 'SPUBLISH', HERE, 'x'), 0)
  assert.equal(await said(target, 'GET', first), `MOVED ${SLOT} redis-1:6379`)
  const asked = async (/** @type {string[]} */ ...command) =>
    (await Promise.all([said(target, 'ASKING'), said(target, ...command)]))[1]
  assert.equal(await asked('GET', first), '1')
  assert.equal(await asked('GET', missing), null)
  assert.equal(await asked('EXISTS', first, missing), again)
  assert.equal(await said(target, 'GET', first), `MOVED ${SLOT} redis-1:6379`, 'ASKING is for one command')
  await sleep(20_500)
  assert.equal(await said(target, 'GET', second), '2')
  assert.equal(await said(source, 'GET', second), ask, 'it has not heard yet')
  await sleep(1000)
  for (const node of [source, other]) assert.equal(await said(node, 'GET', first), `MOVED ${SLOT} redis-2:6379`)
}))

test('subscribers of a hash slot that moves learn of it, and a client follows', () => withShards(async (given) => {
  const { shards, nodes, sleep } = given
  const cluster = new Cluster(shards.url.split(','), { redisOptions: { lazyConnect: false } }).on('error', () => {})
  await cluster.set(HERE, '1')
  await cluster.set(FAR, '2')
  const subscriber = nodes[0].duplicate()
  let moves = 0
  subscriber.on('moved', () => moves++)
  await subscriber.ssubscribe(HERE)
  shards.move(SLOT, 2, { perKey: 0, heard: () => 500 })
  await sleep(50)
  assert.equal(moves, 1)
  assert.deepEqual(await Promise.all([cluster.get(HERE), cluster.get(FAR)]), ['1', '2'])
  cluster.disconnect()
  subscriber.disconnect()
}))

test('a shard that was started again knows no cluster for two seconds', () => withShards(async (given) => {
  const { shards, nodes, said, sleep } = given
  await nodes[0].set(HERE, '1')
  shards.servers[0].restart(shards.servers[0].store.snapshot(), 300)
  await sleep(1500)
  assert.equal(await said(nodes[0], 'GET', HERE), 'CLUSTERDOWN The cluster is down')
  assert.match(await said(nodes[0], 'CLUSTER', 'INFO'), /cluster_state:fail/)
  assert.equal(await said(nodes[0], 'EVAL', 'return 1', '0'), 1)
  assert.equal(await said(nodes[0], 'SPUBLISH', HERE, 'x'), 0)
  await sleep(2000)
  assert.equal(await said(nodes[0], 'GET', HERE), '1')
}))
