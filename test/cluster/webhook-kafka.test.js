import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { startClient } from '../helpers/inkcast-client.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { SECRET, startWebhookService } from '../helpers/webhook-service.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
const MESSAGES = 300

test('with Kafka the webhook gets the uplink topic, over errors and a killed process; what it refuses is a dead letter', {
  timeout: 180_000
}, async (t) => {
  let requests = 0
  const service = await startWebhookService(t, {
    answer (events) {
      if (events.some(({ data }) => data === 'poison')) return { status: 422 }
      if (++requests % 4 === 0) return { status: 500 }
      const [first] = events.filter(({ operator }) => operator === 'message')
      return first && { body: { publish: [{ guid: 'answers', event: 'answer', value: first.id, idempotencyKey: first.id }] } }
    }
  })
  const cluster = await startCluster(t, {
    WORKERS: '2', REDIS_URL, UPLINK_URL: service.url, UPLINK_SECRETS: SECRET, MAX_EVENTS_PER_SECOND: '10000', ...topics.env
  })
  const client = startClient(t, cluster.url)
  const [doc, answers] = [await client.open('minutes'), await client.open('answers')]
  /** @type {string[]} */
  const answered = []
  answers.on('answer', (id) => { answered.push(id) })
  for (let i = 0; i < MESSAGES; i++) {
    await doc.send(i)
    if (i === 100) await doc.send('poison')
    if (i === 150) {
      const [api] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'api')
      process.kill(api.pid, 'SIGKILL')
    }
  }
  const firsts = () => {
    const messages = service.events.filter(({ operator }) => operator === 'message')
    return [...new Map(messages.map(({ id, data }) => [id, data])).values()]
  }
  await waitFor(() => firsts().length >= MESSAGES, { timeout: 90_000, message: () => firsts().length })
  assert.deepEqual(firsts(), Array.from({ length: MESSAGES }, (_, i) => i))
  const letters = await topics.collect(topics.deadLetter)
  await waitFor(() => letters.length > 0, { timeout: 20_000 })
  assert.equal(letters[0].headers['x-reason'], 'webhook: HTTP 422')
  assert.equal(String(letters[0].value), '"poison"')
  await waitFor(() => answered.length > 0, { timeout: 20_000 })
  assert.equal(new Set(answered).size, answered.length, 'each answer once')
})
