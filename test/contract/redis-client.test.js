import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createShardedAdapter } from '@socket.io/redis-adapter'
import { Cluster, Redis } from 'ioredis'
import { Server } from 'socket.io'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createLog } from '../../src/base/common/log.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createRedis } from '../../src/redis/client.js'
import { probeRedis } from '../../src/redis/probe.js'
import { BACKENDS } from '../helpers/backends.js'
import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { startProxy } from '../helpers/proxy.js'
import { recordingLog } from '../helpers/recording-log.js'
import { startRelay } from '../helpers/relay.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'
import { startRedis } from '../services/redis.js'
import { entry, fresh, range } from './bus-fixture.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
/** @param {string} url @param {string} [name] */
const connectTo = (url, name = 'test') => createRedis({ urls: url.split(','), name, log, clock: systemClock, random: systemRandom })

test('an outage is one line with the address and the cause, and its end another one', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const { log: recorded, lines } = recordingLog()
  const redis = createRedis({
    urls: [`redis://user:geheim@127.0.0.1:${server.port}`], name: 'test', log: recorded, clock: systemClock, random: systemRandom
  })
  t.after(() => redis.stop())
  const admin = connectTo(server.url)
  await admin.start()
  await admin.client.call('ACL', 'SETUSER', 'user', 'on', '>geheim', '~*', '&*', '+@all')
  await admin.stop()
  await redis.start()
  await server.kill()
  await waitFor(() => lines.length > 0)
  // further attempts fail, without a line of their own
  let attempts = 0
  redis.client.on('error', () => attempts++)
  await waitFor(() => attempts >= 3)
  assert.deepEqual(lines, [{
    level: 'warn',
    text: `{"address":"127.0.0.1:${server.port}","cause":"connect ECONNREFUSED 127.0.0.1:${server.port}"} redis is unavailable, retrying`
  }])
})

test('a check goes on after a lost connection, and names a Redis that does not answer as that', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  let connections = 0
  let silent = false
  const relay = await startRelay(server.port, (client, upstream) => {
    const isFirst = ++connections === 1
    client.on('data', (chunk) => {
      if (!chunk.includes('ping')) upstream.write(chunk)
      else if (isFirst) client.destroy()
      else if (!silent) upstream.write(chunk)
    })
    upstream.on('data', (chunk) => client.write(chunk))
    return () => {}
  })
  t.after(() => relay.stop())
  const probe = (/** @type {number} */ timeout) => probeRedis({
    urls: [`redis://127.0.0.1:${relay.port}`], log, timeout, clock: systemClock, random: systemRandom
  })
  assert.match((await probe(10_000)).version, /^\d+\./)
  assert.equal(connections, 2)
  silent = true
  await assert.rejects(probe(1000), { message: 'Redis does not respond within 1 s (REDIS_URL)' })
})

describe('the redis client', () => {
  /** @type {import('../services/redis.js').RedisServer} */
  let server
  before(async () => {
    server = await startRedis()
    const open = connectTo(server.url)
    await open.start()
    await open.client.config('SET', 'requirepass', 'geheim/1:@')
    await open.stop()
  })
  after(() => server?.stop())
  const withPassword = () => `redis://default:${encodeURIComponent('geheim/1:@')}@127.0.0.1:${server.port}/3`

  test('takes password and database from the URL and names its connections', async () => {
    const redis = connectTo(withPassword(), 'gateway-1')
    try {
      await redis.start()
      await redis.channels.subscribe('inkcast:{w:1}', () => {})
      assert.equal(redis.ready, true)
      const clients = String(await redis.client.client('LIST'))
      assert.match(clients, /name=inkcast-gateway-1 /)
      assert.match(clients, /name=inkcast-gateway-1-subscriber /)
      assert.match(clients, /name=inkcast-gateway-1 .* db=3 /)
    } finally {
      await redis.stop()
    }
  })

  for (const [what, url, message] of /** @type {[string, () => string, RegExp][]} */ ([
    ['a wrong password', () => `redis://:wrong@127.0.0.1:${server.port}`, /WRONGPASS/],
    ['no password', () => `redis://127.0.0.1:${server.port}`, /NOAUTH/],
    [
      'one node of a cluster',
      () => redisClusterUrl().split(',')[0],
      /a node of Redis Cluster; give the URLs of several/
    ],
    ['several URLs of a single redis', () => `${redisUrl()},${redisUrl()}`, /single Redis: give one URL/]
  ])) {
    test(`does not start with ${what}, and reports it`, async () => {
      const redis = connectTo(url())
      await assert.rejects(redis.start(), message)
      await redis.stop()
    })
  }

  test('waits for a redis that starts later, and can be stopped while it waits', async () => {
    const port = await freePort()
    const redis = connectTo(`redis://127.0.0.1:${port}`)
    const hopeless = connectTo(`redis://127.0.0.1:${port}`)
    const started = redis.start()
    const stopped = assert.rejects(hopeless.start())
    await delay(200)
    await hopeless.stop()
    await stopped
    assert.equal(redis.ready, false)
    const late = await startRedis({ port })
    try {
      await started
      assert.equal(await redis.client.ping(), 'PONG')
    } finally {
      await redis.stop()
      await late.stop()
    }
  })

  test('waits for a cluster as well', async () => {
    const port = await freePort()
    const redis = connectTo(`redis://127.0.0.1:${port},redis://127.0.0.1:${port}`)
    const stopped = assert.rejects(redis.start())
    await delay(500)
    await redis.stop()
    await stopped
  })

  test('a publish with an unknown outcome can be retried with its origin: each record is kept once', async () => {
    const plain = await startRedis()
    const proxy = await startProxy(plain.port)
    const redis = connectTo(`redis://127.0.0.1:${proxy.port}`)
    const metrics = createMetrics({ processMetrics: false })
    const bus = createRedisBus({
      redis, log, metrics, history: { size: 100, ttl: 60 }, clock: systemClock, random: systemRandom
    })
    const admin = new Redis({ port: plain.port, retryStrategy: () => null })
    const monitor = await admin.monitor()
    let sent = 0
    try {
      await redis.start()
      await bus.start()
      const guid = fresh()
      monitor.on('monitor', (/** @type {string} */ _time, /** @type {string[]} */ [command, ...args]) => {
        if (/^eval/i.test(command) && args.some((arg) => arg.includes(guid))) sent++
      })
      const offered = range(3).map((i) => ({ ...entry(guid, i), origin: { source: 't/0', sequence: i } }))
      await bus.publish([entry(fresh(), 'so that the script is known')])
      proxy.loseAnswers()
      await assert.rejects(bus.publish(offered), { code: 'timeout', retryable: true })
      proxy.heal()
      const published = await waitFor(() => bus.publish(offered), { message: 'the connection to come back' })
      assert.deepEqual(
        published.map(({ duplicate, position }) => [duplicate, position?.offset]),
        [
          [true, 3],
          [true, 3],
          [true, 3]
        ]
      )
      // ioredis did not send it a second time by itself
      await waitFor(() => sent === 2, { message: () => `sent ${sent} times` })
    } finally {
      monitor.disconnect()
      admin.disconnect()
      await bus.stop()
      await redis.stop()
      await proxy.stop()
      await plain.stop()
    }
  })

  test('refused subscriptions are retried until they are accepted', async () => {
    const plain = await startRedis()
    const redis = connectTo(plain.url)
    try {
      await redis.start()
      await redis.client.acl('SETUSER', 'default', 'resetchannels', '&inkcast:{w:1}')
      /** @type {string[]} */
      const got = []
      const refused = assert.rejects(
        redis.channels.subscribe('inkcast:{w:2}', (payload) => { got.push(payload.toString()) }),
        { code: 'unavailable' }
      )
      await redis.channels.subscribe('inkcast:{w:1}', () => {}) // sent together with the refused one, and must succeed
      await refused
      await redis.client.acl('SETUSER', 'default', 'allchannels')
      await waitFor(async () => {
        await redis.client.spublish('inkcast:{w:2}', 'x')
        return got.length > 0
      }, { timeout: 10_000, message: 'the channel' })
    } finally {
      await redis.stop()
      await plain.stop()
    }
  })

  for (const [name, url] of BACKENDS) {
    test(`serves the Socket.IO adapter with ${name}, also after lost connections`, async () => {
      const prefix = fresh('adapter')
      const connections = [connectTo(url(), `${prefix}-a`), connectTo(url(), `${prefix}-b`)]
      /** @type {Server[]} */
      const servers = []
      try {
        await Promise.all(connections.map((redis) => redis.start()))
        servers.push(
          ...connections.map(
            (redis) =>
              new Server({
                adapter: createShardedAdapter(redis.client, redis.adapterClients().subscriber, {
                  channelPrefix: prefix
                })
              })
          )
        )
        /** @type {unknown[]} */
        const got = []
        servers[1].on('hello', (/** @type {unknown} */ value) => {
          got.push(value)
        })
        await waitFor(
          () => {
            servers[0].serverSideEmit('hello', 'first')
            return got.includes('first')
          },
          { message: 'the first message' }
        )
        servers[1].on('asked', (/** @type {Function} */ answer) => answer('yes'))
        // the adapter does not await the subscription for answers: the first question may get none
        const answers = await waitFor(async () => {
          const some = await servers[0].serverSideEmitWithAck('asked')
          return some.length > 0 && some
        }, { timeout: 10_000, message: 'an answer' })
        assert.deepEqual(answers, ['yes'])

        const { client } = connections[1]
        for (const node of client instanceof Cluster ? client.nodes('master') : [client]) {
          const clients = String(await node.client('LIST')).split('\n')
            .filter((line) => line.includes(`name=inkcast-${prefix}-b-subscriber `))
          for (const line of clients)
            await node.client('KILL', 'ID', /** @type {string} */ (/id=(\d+)/.exec(line)?.[1]))
        }
        await waitFor(
          () => {
            servers[0].serverSideEmit('hello', 'second')
            return got.includes('second')
          },
          { message: 'a message over the new connection' }
        )
      } finally {
        for (const io of servers) await io.of('/').adapter.close()
        for (const redis of connections) await redis.stop()
      }
    })
  }
})
