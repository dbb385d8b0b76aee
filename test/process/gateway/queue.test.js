import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { inOrder, refusedUndecoded } from '../../../src/gateway/handlers/queued-edits.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
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

  test('that the rate limit refuses comes again before later ones are accepted', async (t) => {
    const time = holdTime(t)
    const limited = await startEmbedded(file, { MAX_EVENTS_PER_SECOND: '50' }, undefined, { clock: time.clock })
    const guid = fresh()
    const client = await connectClient(file, limited.url)
    await client.ask('doc:join', { guid })
    /** @type {Map<number, { duplicate?: boolean }>} */
    const accepted = new Map()
    const codes = new Set()
    const waiting = () => Array.from({ length: 250 }, (_, i) => i + 1).filter((seq) => !accepted.has(seq))
    for (let round = 0; waiting().length > 0 && round < 60; round++) {
      /** @type {Promise<void>[]} */
      const answers = []
      for (const seq of waiting()) {
        answers.push(client.ask('doc:send', { guid, data: seq, queue: { id, seq } }).then((answer) => {
          if (answer.ok) accepted.set(seq, answer)
          else codes.add(answer.error.code)
        }))
        // slowly enough for the limit to allow an edit between refused ones
        if (seq % 5 !== 0) continue
        await Promise.all(answers)
        time.pass(5)
      }
      await Promise.all(answers)
      time.pass(500)
    }
    // an edit that is lost never comes
    await waitFor(() => payloads(client).at(-1) === 250)
    assert.deepEqual(payloads(client), Array.from({ length: 250 }, (_, i) => i + 1))
    assert.deepEqual([...codes].sort(), ['out_of_order', 'rate_limited'])
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

  test('wait for one that was refused undecoded, once', async () => {
    const connection = {}
    /** @type {number[]} */
    const sent = []
    const send = (/** @type {number} */ seq, queue = 'q') =>
      inOrder(connection, queue, seq, async () => { sent.push(seq) }).then(() => 'ok', ({ code }) => code)
    assert.deepEqual(await Promise.all([1, 2].map((seq) => send(seq))), ['ok', 'ok'])
    refusedUndecoded(connection)
    assert.deepEqual(await Promise.all([4, 5].map((seq) => send(seq))), ['out_of_order', 'out_of_order'])
    // 3 is refused again
    refusedUndecoded(connection)
    assert.deepEqual(await Promise.all([4, 5].map((seq) => send(seq))), ['out_of_order', 'out_of_order'])
    assert.deepEqual(await Promise.all([3, 4, 5].map((seq) => send(seq))), ['ok', 'ok', 'ok'])
    assert.deepEqual(sent, [1, 2, 3, 4, 5])
    // one fails, comes again, and the next one is refused
    const failing = inOrder(connection, 'q', 6, async () => { throw new InkcastError('unavailable') })
    assert.deepEqual(await Promise.all([failing.catch(({ code }) => code), send(7)]), ['unavailable', 'out_of_order'])
    const again = send(6)
    refusedUndecoded(connection)
    assert.deepEqual(await Promise.all([again, send(8)]), ['ok', 'out_of_order'])
    assert.deepEqual(await Promise.all([7, 8].map((seq) => send(seq))), ['ok', 'ok'])
    // the refused one belonged to another queue, or was dropped by its client
    refusedUndecoded(connection)
    assert.deepEqual([await send(9), await send(9, 'r'), await send(9, 'r')], ['ok', 'out_of_order', 'ok'])
    refusedUndecoded(connection)
    assert.deepEqual([await send(11), await send(11), await send(13)], ['out_of_order', 'ok', 'ok'])
  })

  test('wait for one that came while the document was not joined', async () => {
    const connection = {}
    let joined = false
    const send = (/** @type {number} */ seq) => inOrder(connection, 'q', seq, async () => {
      await Promise.resolve()
      if (joined) return
      joined = true
      throw new InkcastError('not_joined')
    }).then(() => 'ok', ({ code }) => code)
    assert.deepEqual(await Promise.all([1, 2].map(send)), ['not_joined', 'out_of_order'])
    assert.deepEqual(await Promise.all([1, 2].map(send)), ['ok', 'ok'])
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
    const many = {}
    for (let i = 0; i < 300; i++) await inOrder(many, `q${i}`, 1, async () => {})
  })
})
