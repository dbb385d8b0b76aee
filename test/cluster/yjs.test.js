import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { startClient } from '../helpers/inkcast-client.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { startYjsService } from '../helpers/yjs-service.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
/** @type {Awaited<ReturnType<typeof startYjsService>>} */
let service
before(async () => {
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, ...topics.env })
  service = await startYjsService(scope, {
    apiUrl: cluster.apiUrl,
    env: { ...topics.env, YJS_TOPIC: topics.uplink, YJS_GROUP_ID: `yjs-${topics.env.KAFKA_GROUP_ID}` }
  })
}, { timeout: 120_000 })

test('with Kafka the service relays updates, merges and cuts, also when it is killed', { timeout: 180_000 }, async (t) => {
  const guid = 'minutes'
  const pages = await Promise.all([1, 2].map(async () => {
    const doc = new Y.Doc()
    const provider = new InkcastProvider(startClient(t, cluster.url), guid, doc, { load: service.load(guid) })
    t.after(() => provider.destroy())
    await provider.whenSynced
    return { provider, text: doc.getText('text') }
  }))
  const [ada, grace] = pages
  const has = (/** @type {string} */ content) => waitFor(() => pages.every(({ text }) => text.toString() === content), {
    timeout: 30_000, message: () => `${content}: ${pages.map(({ text }) => text)}; ${service.output()}`
  })
  for (const character of 'one ') ada.text.insert(ada.text.length, character)
  await has('one ')
  for (const character of 'two ') grace.text.insert(grace.text.length, character)
  await has('one two ')
  await waitFor(async () => {
    const answer = await fetch(`${cluster.apiUrl}/v1/documents/${guid}/history`)
    return /** @type {any} */ (await answer.json()).records.length === 0
  }, { timeout: 30_000, message: () => `the log to be cut; ${service.output()}` })

  await service.stop('SIGKILL')
  ada.text.insert(0, 'zero ')
  await waitFor(() => !ada.provider.unsent, { timeout: 20_000, message: 'Kafka to have it' })
  await service.start()
  await has('zero one two ')
  await waitFor(async () => await service.text(guid) === 'zero one two ', { timeout: 20_000 })
  assert.deepEqual(pages.map(({ provider }) => provider.synced), [true, true])
})
