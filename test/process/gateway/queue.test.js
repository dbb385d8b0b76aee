import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { InkcastError } from '../../../src/common/errors.js'
import { inOrder } from '../../../src/gateway/handlers/queue-order.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { MAX_EVENTS_PER_SECOND: '10000' })
const fresh = () => `doc-${randomBytes(6).toString('hex')}`
const id = 'a-queue-of-one-tab'

/** @param {string} guid */
async function joined (guid) {
  const client = await connectClient(file, server.url)
  await client.ask('doc:join', { guid })
  return client
}
/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const payloads = ({ received }) => received.filter(({ event }) => event === 'message').map(({ payload }) => payload)

describe('a queued edit', () => {
  test('arrives once, and its repetition is a duplicate, also over another connection', async () => {
    const guid = fresh()
    const [client, other] = [await joined(guid), await joined(guid)]
    const send = (/** @type {any} */ by, /** @type {number} */ seq) =>
      by.ask('doc:send', { guid, data: seq, queue: { id, seq } })
    assert.match((await send(client, 1)).traceId, /^[0-9a-f]{32}$/)
    assert.deepEqual(await send(client, 1), { ok: true, duplicate: true })
    assert.deepEqual(await send(other, 1), { ok: true, duplicate: true })
    assert.equal((await send(other, 2)).ok, true)
    await client.ask('doc:send', { guid, data: 'not queued' })
    await waitFor(() => payloads(client).length >= 3)
    assert.deepEqual(payloads(client), [1, 2, 'not queued'])
  })

  test('of a hundred sent at once arrives in its place', async () => {
    const guid = fresh()
    const client = await joined(guid)
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) =>
      client.ask('doc:send', { guid, data: i + 1, queue: { id, seq: i + 1 } })))
    assert.ok(answers.every(({ ok }) => ok))
    await waitFor(() => payloads(client).length >= 100)
    assert.deepEqual(payloads(client), Array.from({ length: 100 }, (_, i) => i + 1))
  })

  test('with a wrong queue is refused', async () => {
    const guid = fresh()
    const client = await joined(guid)
    const wrong = [
      null, {}, { id }, { id, seq: 0 }, { id, seq: 1.5 }, { id: 'short', seq: 1 }, { id: 'with a space, long', seq: 1 }
    ]
    for (const queue of wrong) {
      const { error } = await client.ask('doc:send', { guid, data: 1, queue })
      assert.equal(error?.code, 'bad_request', JSON.stringify(queue))
    }
  })
})

describe('sends of one queue', () => {
  test('are carried out one after the other', async () => {
    const connection = {}
    /** @type {string[]} */
    const steps = []
    await Promise.all([1, 2, 3].map((seq) => inOrder(connection, 'q', seq, async () => {
      steps.push(`begin ${seq}`)
      await new Promise((resolve) => setTimeout(resolve, 5 - seq))
      steps.push(`end ${seq}`)
    })))
    assert.deepEqual(steps, ['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
  })

  test('wait for the one that may succeed later', async () => {
    const connection = {}
    let available = false
    /** @type {number[]} */
    const sent = []
    const send = (/** @type {number} */ seq) => inOrder(connection, 'q', seq, async () => {
      if (!available && seq >= 2) throw new InkcastError('unavailable')
      sent.push(seq)
    }).then(() => 'ok', ({ code }) => code)
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map(send)), ['ok', 'unavailable', 'out_of_order', 'out_of_order'])
    available = true
    assert.deepEqual(await Promise.all([3, 2, 3, 4].map(send)), ['out_of_order', 'ok', 'ok', 'ok'])
    assert.deepEqual(sent, [1, 2, 3, 4])
  })

  test('go on after one that is refused for good', async () => {
    const send = (/** @type {number} */ seq) => inOrder(send, 'q', seq, async () => {
      if (seq === 1) throw new InkcastError('forbidden')
    }).then(() => 'ok', ({ code }) => code)
    assert.deepEqual(await Promise.all([1, 2].map(send)), ['forbidden', 'ok'])
  })

  test('are bounded: a hundred wait, of a hundred queues', async () => {
    const connection = {}
    const never = () => new Promise(() => {})
    for (let i = 1; i <= 100; i++) inOrder(connection, 'q', i, never)
    await assert.rejects(inOrder(connection, 'q', 101, never), { code: 'rate_limited' })
    for (let i = 1; i < 100; i++) inOrder(connection, `q${i}`, 1, never)
    await assert.rejects(inOrder(connection, 'another', 1, never), { code: 'rate_limited' })
  })
})
