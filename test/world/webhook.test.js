import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RECEIVER_SETTINGS, ScriptedReceiver } from '../simulation/script/scripted-receiver.js'

const env = { ...RECEIVER_SETTINGS, MAX_EVENTS_PER_SECOND: '10000' }
const DOCUMENTS = 4

/** Each message once, where it came first. @param {ScriptedReceiver} receiver @param {string} [guid] */
const firsts = ({ events }, guid) => {
  const messages = events.filter((event) => event.operator === 'message' && (guid === undefined || event.guid === guid))
  return [...new Map(messages.map(({ id, data }) => [id, data])).values()]
}

test('no message is lost or out of order when the service is unavailable, answers 500, and the sending process is killed', () =>
  inCluster({ env }, async (cluster) => {
    const receiver = new ScriptedReceiver(cluster, (_, request) => request % 7 === 0 ? { status: 500 } : undefined)
    const [api] = cluster.cluster.slots.filter(({ name }) => name.includes('api'))
    /** Acknowledged, by document. @type {number[][]} */
    const acknowledged = []
    for (let d = 0; d < DOCUMENTS; d++) {
      const page = cluster.page(`user-${d}`)
      const doc = await page.open(`doc-${d}`)
      /** @type {number[]} */
      const sent = []
      acknowledged.push(sent)
      page.enter(async () => {
        // one at a time: the order of those that are refused and sent again would be the client's
        for (let i = 0; i < 60; i++) {
          await doc.send(i).then(() => sent.push(i), () => {})
          await page.process.clock.sleep(200)
        }
      })
    }
    await cluster.pass(2000)
    receiver.stop()
    await cluster.pass(5000)
    receiver.start()
    for (let i = 0; i < 2; i++) {
      await cluster.pass(2000)
      cluster.kill(api)
    }
    await cluster.pass(10_000)
    const total = acknowledged.flat().length
    assert.ok(total > 30 * DOCUMENTS, `${total} acknowledged`)
    await cluster.until(() => firsts(receiver).length >= total, { message: () => `${firsts(receiver).length} of ${total}` })
    for (const [d, sent] of acknowledged.entries()) {
      const got = firsts(receiver, `doc-${d}`)
      assert.deepEqual(got, [...got].sort((a, b) => a - b), `doc-${d} in order`)
      assert.deepEqual(sent.filter((i) => !got.includes(i)), [], `doc-${d} complete`)
    }
  }))

test('with Kafka the webhook gets the uplink topic, over errors and a killed process; what it refuses is a dead letter',
  () => inCluster({ kafka: true, env, errors: ['the webhook refuses an event for good'] }, async (cluster) => {
    const MESSAGES = 60
    const receiver = new ScriptedReceiver(cluster, (events, request) => {
      if (events.some(({ data }) => data === 'poison')) return { status: 422 }
      if (request % 4 === 0) return { status: 500 }
      const [first] = events.filter(({ operator }) => operator === 'message')
      return first && {
        body: { publish: [{ guid: 'answers', event: 'answer', value: first.id, idempotencyKey: first.id }] }
      }
    })
    const [api] = cluster.cluster.slots.filter(({ name }) => name.includes('api'))
    const page = await cluster.connect('ada')
    for (const guid of ['minutes', 'answers']) await page.ask('doc:join', { guid })
    for (let i = 0; i < MESSAGES; i++) {
      await page.ask('doc:send', { guid: 'minutes', data: i })
      if (i === 20) await page.ask('doc:send', { guid: 'minutes', data: 'poison' })
      if (i === 30) cluster.kill(api)
    }
    await cluster.until(() => firsts(receiver).length >= MESSAGES, { message: () => firsts(receiver).length })
    assert.deepEqual(firsts(receiver), Array.from({ length: MESSAGES }, (_, i) => i))
    const letters = await cluster.until(() => cluster.records('documents.dead-letter'))
    assert.deepEqual(
      letters.map(({ headers, value }) => [headers['x-reason'], value]), [['webhook: HTTP 422', 'poison']])
    await cluster.until(() => page.got('answer').length > 0)
    await cluster.pass(2000)
    assert.equal(new Set(page.got('answer')).size, page.got('answer').length, 'each answer once')
  }))
