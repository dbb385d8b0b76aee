import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { createClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
const NOTIFICATIONS = 1000
const KILLS = 3
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
/** @type {Awaited<ReturnType<typeof topics.producer>>} */
let producer
before(async () => {
  cluster = await startCluster(scope, {
    WORKERS: '2', REDIS_URL, AUTH_JWT_SECRET: SECRET, HISTORY_SIZE: '5000', ...topics.env
  })
  producer = await topics.producer()
}, { timeout: 90_000 })

test('a user gets 1,000 notifications once and in order, although workers are killed', { timeout: 120_000 },
  async (t) => {
    const uid = `user-${randomUUID()}`
    const token = await signToken({ sub: uid })
    /** @type {object} */
    let position = {}
    const client = createClient(t, cluster.url, {
      reconnection: true,
      auth: (/** @type {(auth: object) => void} */ send) => send({ token, user: position })
    })
    /** @type {number[]} */
    const got = []
    let connects = 0
    let resyncs = 0
    client.on('connect', () => { connects++ })
    client.on('gateway:user', (answer) => { position = answer.position })
    client.on('gateway:resync', () => { resyncs++ })
    client.on('note', (number, { user: { epoch, offset } }) => {
      got.push(number)
      position = { epoch, offset }
    })
    client.on('disconnect', (reason) => { if (reason === 'io server disconnect') client.connect() })
    await waitFor(() => 'epoch' in position)
    for (let i = 0; i < NOTIFICATIONS; i++) {
      await producer.send({
        topic: topics.downlink,
        messages: [{
          key: uid,
          value: String(i),
          headers: { 'x-operator': 'user', 'x-uid': uid, 'x-event': 'note', 'x-keep': 'true' }
        }]
      })
      if (i % Math.floor(NOTIFICATIONS / KILLS) === 150) {
        await waitFor(() => client.connected, { timeout: 30_000, message: 'the client is back' })
        const gateways = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
        for (const { pid } of gateways) process.kill(pid, 'SIGKILL')
      }
    }
    await waitFor(() => got.length >= NOTIFICATIONS, { timeout: 60_000, message: () => `${got.length} arrived` })
    assert.deepEqual(got, Array.from({ length: NOTIFICATIONS }, (_, i) => i))
    assert.equal(resyncs, 0)
    assert.equal(connects, KILLS + 1)
  })
