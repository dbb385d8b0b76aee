import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { connectClient } from '../helpers/clients.js'
import { kafkaBrokers, kafkaClasspath } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { produceWithJava } from '../services/kafka-console-producer.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
before(async () => {
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, ...topics.env })
}, { timeout: 90_000 })

/**
 * Members of one document with both codecs.
 * @param {import('node:test').TestContext} t
 * @param {string} guid
 */
async function members (t, guid) {
  const clients = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      connectClient(t, cluster.url, {
        codec: i % 2 ? 'json' : 'msgpack',
        transports: i === 5 ? ['polling'] : ['websocket']
      })
    )
  )
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid })).ok, true)
  return clients
}

for (const compression of /** @type {const} */ (['none', 'gzip', 'snappy', 'lz4', 'zstd'])) {
  test(
    `records that Java's own client compressed with ${compression} arrive in order and whole`,
    { timeout: 60_000, skip: kafkaClasspath() === '' && 'needs Java' },
    async (t) => {
      const guid = `${compression}-${randomUUID()}`
      const clients = await members(t, guid)
      const values = Array.from({ length: 200 }, (_, i) => ({ i, text: 'Grüße 世界 🌍 '.repeat(1 + (i % 40)) }))
      await produceWithJava({
        classpath: kafkaClasspath(),
        brokers: kafkaBrokers(),
        topic: topics.downlink,
        compression,
        records: values.map((value) => ({
          key: guid,
          headers: { 'x-operator': 'broadcast', 'x-guid': guid },
          value: JSON.stringify(value)
        }))
      })
      await waitFor(() => clients.every(({ received }) => received.length >= values.length), {
        timeout: 20_000,
        message: () => clients.map(({ received }) => received.length)
      })
      for (const { received } of clients) {
        assert.deepEqual(
          received.map(({ payload }) => payload),
          values
        )
        assert.deepEqual(
          received.map(({ meta }) => meta.offset),
          values.map((_, i) => i + 1)
        )
      }
    }
  )
}

test(
  '100 bad records between good ones go to the dead-letter topic with their reasons, and good ones are not affected',
  { timeout: 180_000 },
  async (t) => {
    const guid = `bad-${randomUUID()}`
    const clients = await members(t, guid)
    const letters = await topics.collect(topics.deadLetter)
    const good = { 'x-operator': 'broadcast', 'x-guid': guid }
    const msgpack = { ...good, 'content-type': 'application/msgpack' }
    /** @type {{ reason: string, headers: Record<string, string | Buffer>, value: Buffer | string | null }[]} */
    const bad = [
      { reason: 'unknown_operator', headers: {}, value: '{}' },
      { reason: 'unknown_operator', headers: { ...good, 'x-operator': 'shout' }, value: '{}' },
      { reason: 'missing_target', headers: { 'x-operator': 'broadcast' }, value: '{}' },
      { reason: 'missing_target', headers: { 'x-operator': 'kick' }, value: '' },
      { reason: 'bad_target', headers: { ...good, 'x-guid': 'x'.repeat(300) }, value: '{}' },
      { reason: 'bad_utf8', headers: good, value: Buffer.from([0x22, 0xff, 0xfe, 0x22]) },
      { reason: 'bad_value', headers: good, value: '{"broken":' },
      { reason: 'bad_value', headers: good, value: '1,"injected"' },
      { reason: 'bad_value', headers: good, value: '' },
      { reason: 'bad_value', headers: good, value: null },
      { reason: 'bad_value', headers: good, value: '['.repeat(1000) + ']'.repeat(1000) },
      { reason: 'bad_value', headers: msgpack, value: Buffer.from([0x93, 1]) },
      { reason: 'bad_value', headers: msgpack, value: Buffer.from([1, 2]) },
      { reason: 'bad_utf8', headers: msgpack, value: Buffer.from([0xa1, 0xff]) },
      { reason: 'reserved_event', headers: { ...good, 'x-event': 'disconnect' }, value: '{}' },
      { reason: 'reserved_event', headers: { ...good, 'x-event': 'doc:joined' }, value: '{}' },
      { reason: 'bad_header', headers: { ...good, 'x-keep': 'yes' }, value: '{}' },
      { reason: 'bad_header', headers: { ...good, 'x-ephemeral': 'perhaps' }, value: '{}' },
      { reason: 'bad_header', headers: { ...good, 'x-event': Buffer.from([0xff]) }, value: '{}' },
      { reason: 'bad_content_type', headers: { ...good, 'content-type': 'text/plain' }, value: 'hello' }
    ]
    const producer = await topics.producer()
    const messages = Array.from({ length: 200 }, (_, i) =>
      i % 2
        ? {
            key: guid,
            headers: { ...bad[(i >> 1) % bad.length].headers, 'x-trace-id': `bad-${i >> 1}` },
            value: bad[(i >> 1) % bad.length].value
          }
        : { key: guid, headers: good, value: JSON.stringify({ i: i >> 1 }) }
    )
    await producer.send({ topic: topics.downlink, messages })

    await waitFor(() => clients.every(({ received }) => received.length >= 100) && letters.length >= 100, {
      timeout: 20_000,
      message: () => ({ received: clients.map(({ received }) => received.length), letters: letters.length })
    })
    for (const client of clients) {
      assert.deepEqual(
        client.received.map(({ payload }) => payload.i),
        Array.from({ length: 100 }, (_, i) => i)
      )
      assert.equal(client.connected, true)
    }
    assert.equal(letters.length, 100)
    for (const { headers, value } of letters) {
      const { reason, value: sent } = bad[Number(headers['x-trace-id'].slice(4)) % bad.length]
      assert.equal(headers['x-reason'], reason, headers['x-trace-id'])
      assert.equal(headers['x-topic'], topics.downlink)
      assert.match(headers['x-offset'], /^\d+$/)
      assert.deepEqual(value, sent === null ? null : Buffer.from(sent))
    }
  }
)
