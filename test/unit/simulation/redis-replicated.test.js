import '../../simulation/world/patched-time.js'
import '../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { ReplicatedRedis } from '../../simulation/parts/redis/replicated.js'
import { inWorld } from './in-world.js'

/** @param {string} text of INFO @param {string} field */
const fieldOf = (text, field) => new RegExp(`^${field}:(\\w+)`, 'm').exec(text)?.[1]

/**
 * @param {(given: { redis: ReplicatedRedis, master: Redis, replica: Redis, sleep: (ms: number) => Promise<void> })
 *   => Promise<void>} play
 */
const withReplica = (play) => inWorld(async ({ world, clock }) => {
  const redis = new ReplicatedRedis(world)
  const [master, replica] = redis.servers.map(({ address }) => new Redis(`redis://${address}`).on('error', () => {}))
  const sleep = (/** @type {number} */ ms) => clock.sleep(ms)
  await sleep(2000)
  await play({ redis, master, replica, sleep })
  master.disconnect()
  replica.disconnect()
})

test('a replica has what its master had a lag before, and takes no writes', () => withReplica(async (given) => {
  const { master, replica, sleep } = given
  const random = 'redis.call(\'SET\', KEYS[1], redis.call(\'TIME\')[2])\nredis.call(\'DEL\', KEYS[2])\nreturn 1'
  await master.set('gone', '1')
  await master.eval(random, 2, 'time', 'gone')
  await sleep(3000)
  assert.equal(await replica.get('time'), await master.get('time'))
  assert.equal(await replica.get('gone'), null)
  await assert.rejects(replica.set('a', '1'), { message: 'READONLY You can\'t write against a read only replica.' })
  await assert.rejects(replica.eval(random, 2, 'time', 'gone'), /^ReplyError: READONLY/)
  assert.equal(fieldOf(await master.info(), 'role'), 'master')
  const info = await replica.info()
  assert.equal(fieldOf(info, 'role'), 'slave')
  assert.equal(fieldOf(info, 'master_replid'), fieldOf(await master.info(), 'master_replid'))
}))

test('WAIT has its reply when the replica has the writes; the commands behind it wait', () => withReplica(async (given) => {
  const { redis: { servers: [, follower] }, master } = given
  await master.set('a', '1')
  const replies = await master.pipeline().set('a', '2').call('WAIT', '1', '5000').get('a').exec()
  assert.deepEqual(replies?.map(([, reply]) => reply), ['OK', 1, '2'])
  assert.equal(follower.store.keyspace.entry('a')?.value.content, '2')
  follower.process.pause(10_000)
  const late = await master.pipeline().set('a', '3').call('WAIT', '1', '500').exec()
  assert.deepEqual(late?.map(([, reply]) => reply), ['OK', 0])
}))

test('a master that does not answer is replaced, and becomes a replica', () => withReplica(async (given) => {
  const { redis, master, replica, sleep } = given
  const [first, second] = redis.servers
  await master.set('a', '1')
  await sleep(3000)
  const before = fieldOf(await replica.info(), 'master_replid')
  const sentinel = new Redis(`redis://${redis.sentinel.address}`, { enableReadyCheck: false })
  /** @type {string[]} */
  const switches = []
  sentinel.on('message', (_, text) => switches.push(text))
  await sentinel.subscribe('+switch-master')
  first.process.pause(redis.patience + 1000)
  await sleep(redis.patience + 500)
  assert.equal(redis.master, second)
  assert.deepEqual(switches, ['main redis-1 6379 redis-2 6379'])
  const client = new Redis({ sentinels: [{ host: 'sentinel', port: 26379 }], name: 'main', role: 'master' })
  client.on('error', () => {})
  assert.equal(await client.set('a', '2'), 'OK')
  assert.notEqual(fieldOf(await client.info(), 'master_replid'), before)
  await sleep(1500)
  await assert.rejects(master.set('a', '3'), { message: 'NOREPLICAS Not enough good replicas to write.' })
  await sleep(8000)
  await assert.rejects(master.set('a', '3'), /READONLY/)
  assert.equal(await master.get('a'), '2')
  sentinel.disconnect()
  client.disconnect()
}))
