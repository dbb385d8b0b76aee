import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createRedis } from '../../src/redis/client.js'
import { recordingLog } from '../helpers/recording-log.js'
import { startRelay } from '../helpers/relay.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'
import { createInbox, entry, fresh, handlersOf } from './bus-fixture.js'

/**
 * A worker with a Redis address that can move to another server, while open connections stay.
 * @param {import('node:test').TestContext} t
 */
async function workerOn (t) {
  const [one, two] = await Promise.all([startRedis(), startRedis()])
  t.after(() => Promise.all([one.stop(), two.stop()]))
  const address = { leadsTo: one.port, connections: 0 }
  const relay = await startRelay(() => address.leadsTo, (client, upstream) => {
    address.connections++
    client.pipe(upstream).pipe(client)
  })
  t.after(() => relay.stop())
  const { log } = recordingLog()
  const [direct, other, redis] = [one.url, two.url, `redis://127.0.0.1:${relay.port}`].map((url) =>
    createRedis({ urls: [url], name: 'test', log, clock: systemClock, random: systemRandom })
  )
  for (const connection of [direct, other, redis]) {
    t.after(() => connection.stop())
    await connection.start()
  }
  const inbox = createInbox()
  const history = { size: 10, ttl: 60 }
  const metrics = createMetrics({ processMetrics: false })
  const bus = createRedisBus({
    redis, log, metrics, workerNumber: 7, history, clock: systemClock, random: systemRandom
  })
  t.after(() => bus.stop())
  await bus.start(handlersOf(inbox))
  const elsewhere = createRedisBus({ redis: other, log, metrics, history, clock: systemClock, random: systemRandom })
  t.after(() => elsewhere.stop())
  await elsewhere.start()
  const guid = fresh()
  await bus.subscribe(guid)
  await bus.publish([entry(guid, 'before')])
  await waitFor(() => inbox.records.length === 1, { message: 'live delivery' })
  let back = 0
  redis.onBack(() => { back++ })
  return {
    direct: /** @type {import('ioredis').Redis} */ (direct.client),
    bus, elsewhere, guid, inbox, address,
    port: one.port,
    otherPort: two.port,
    back: () => back
  }
}

for (const [answer, happens] of /** @type {[string, (client: import('ioredis').Redis) => Promise<unknown>][]} */ ([
  ['NOREPLICAS', (client) => client.config('SET', 'min-replicas-to-write', '1')],
  ['READONLY', (client) => client.replicaof('127.0.0.1', 1)],
  ['MASTERDOWN', async (client) => {
    await client.config('SET', 'replica-serve-stale-data', 'no')
    await client.replicaof('127.0.0.1', 1)
  }]
])) {
  test(`a Redis that replies ${answer} is left, also by subscribers, as soon as its address leads to another one`, async (t) => {
    const { direct, bus, elsewhere, guid, inbox, address, otherPort, back } = await workerOn(t)
    await happens(direct)
    await assert.rejects(bus.publish([entry(guid, 'refused')]), { code: 'unavailable' })
    const { connections } = address
    for (let i = 0; i < 100; i++) await assert.rejects(bus.publish([entry(guid, 'refused')]), { code: 'unavailable' })
    assert.equal(back(), 0, 'the connection stays until the address moves')
    assert.ok(address.connections - connections < 10, `${address.connections - connections} connections`)

    address.leadsTo = otherPort
    await waitFor(() => bus.publish([entry(guid, 'after')]), { timeout: 15_000, message: 'a publication' })
    inbox.records.length = 0
    await waitFor(
      async () => {
        await elsewhere.publish([entry(guid, 'live')])
        return inbox.records.length > 0
      },
      { timeout: 15_000, message: 'a record of another process' }
    )
  })
}
