import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createRedisEcho } from '../../src/ingest/redis-echo.js'
import { createRedis } from '../../src/redis/client.js'
import { redisUrl } from '../helpers/env.js'
import { broadcast, localEcho, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { startKafkaProxy } from '../helpers/kafka-proxy.js'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from '../services/kafka.js'
import { freePort } from '../services/ports.js'

const TIMES = { cycle: 500, wedged: 4000 }

/** @param {import('../helpers/kafka-ingest.js').TestKafka} kafka */
async function redisEcho ({ log, onEnd }) {
  const redis = createRedis({ urls: [redisUrl()], name: 'test', log, clock: systemClock, random: systemRandom })
  onEnd(() => redis.stop())
  await redis.start()
  return createRedisEcho({ redis, random: systemRandom })
}

test(
  'a consumer that is wedged while all its health checks are green is detected and replaced, without lost or duplicated records',
  { timeout: 360_000 },
  async (t) => {
    const port = await freePort()
    const proxy = await startKafkaProxy(port)
    const broker = await startKafka({ port, advertisedPort: proxy.port })
    const kafka = await testKafka(t, { brokers: `127.0.0.1:${proxy.port}`, partitions: 3 })
    const { ingest, bus, published, counted, metrics } = await startIngest(kafka, {
      echo: await redisEcho(kafka),
      times: TIMES
    })
    t.after(async () => {
      await broker.stop()
      await proxy.stop()
    })
    const ages = async () => (await metrics.canary_age_seconds.get()).values.map(({ value }) => value)
    await kafka.produce(Array.from({ length: 30 }, (_, i) => broadcast(`d${i % 5}`, i)))
    await published(30)
    await waitFor(async () => (await ages()).length === 3, { message: ages })
    assert.ok(
      (await ages()).every((age) => age < 10),
      String(await ages())
    )

    const { restarts } = ingest.status()
    proxy.wedge()
    const began = performance.now()
    await kafka.produce(Array.from({ length: 30 }, (_, i) => broadcast(`d${i % 5}`, 30 + i)))
    await waitFor(() => ingest.status().stalled, { timeout: 20_000, message: () => ingest.status() })
    t.diagnostic(`detected after ${Math.round(performance.now() - began)} ms`)
    assert.match(String(ingest.status().stalled), /no record comes through partition \d/)
    assert.equal(ingest.status().ready, false)
    await waitFor(() => ingest.status().restarts === restarts + 1, { timeout: 20_000, message: () => ingest.status() })
    proxy.spareNew()
    t.diagnostic(`replaced after ${Math.round(performance.now() - began)} ms, ${proxy.swallowed} responses swallowed`)
    await published(60, 30_000)
    t.diagnostic(`records flow again after ${Math.round(performance.now() - began)} ms`)
    await waitFor(() => ingest.status().ready && ingest.status().stalled === undefined, {
      timeout: 20_000,
      message: () => ingest.status()
    })
    await waitFor(
      async () => {
        const now = await ages()
        return now.length === 3 && now.every((age) => age < 10)
      },
      { message: ages }
    )
    await delay(2000) // a second replacement, or a record from the replaced consumer, would come now

    assert.equal(
      ingest.status().restarts,
      restarts + 1,
      JSON.stringify(kafka.lines.filter(({ level }) => level === 'error' || level === 'warn'))
    )
    const documents = bus.byDocument()
    for (let d = 0; d < 5; d++)
      assert.deepEqual(
        documents.get(`d${d}`),
        Array.from({ length: 12 }, (_, i) => String(i * 5 + d))
      )
    assert.equal(documents.size, 5, 'no document has canaries')
    assert.deepEqual(
      Object.keys(await counted()).filter((name) => name !== 'broadcast ok' && name !== 'broadcast duplicate'),
      [],
      'no dead letters'
    )
  }
)

test(
  'an open transaction holds back its partition, and the consumer does not count as wedged',
  { timeout: 60_000 },
  async (t) => {
    const kafka = await testKafka(t, { partitions: 2 })
    const { ingest, published, bus } = await startIngest(kafka, { echo: localEcho(), times: TIMES })
    await kafka.produce([{ ...broadcast('d', 1), partition: 0 }])
    await published(1)
    const producer = kafka.client.producer({
      transactionalId: `${kafka.groupId}.tx`,
      idempotent: true,
      maxInFlightRequests: 1
    })
    await producer.connect()
    kafka.onEnd(() => producer.disconnect())
    const { restarts } = ingest.status()
    const transaction = await producer.transaction()
    await transaction.send({ topic: kafka.downlinkTopic, messages: [{ ...broadcast('d', 2), partition: 0 }] })
    await waitFor(() => kafka.lines.some(({ text }) => text.includes('an open transaction holds back')), {
      timeout: 20_000,
      message: () => ingest.status()
    })
    assert.deepEqual(
      [ingest.status().stalled, ingest.status().restarts],
      [undefined, restarts],
      JSON.stringify(kafka.lines.filter(({ level }) => level === 'error' || level === 'warn'))
    )
    await transaction.commit()
    await published(2)
    assert.deepEqual(bus.byDocument().get('d'), ['1', '2'])
    assert.deepEqual([ingest.status().stalled, ingest.status().restarts], [undefined, restarts])
  }
)
