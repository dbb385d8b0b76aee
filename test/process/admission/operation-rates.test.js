import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationRatesOf, createOperationRates } from '../../../src/transport/admission/operation-rates.js'
import { loadConfig } from '../../../src/config/load.js'
import { range } from '../../contract/bus-fixture.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'

/** @param {any[]} answers @returns {Record<string, number>} by result */
const tally = (answers) => {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const { ok, error } of answers) counts[ok ? 'ok' : error.code] = (counts[ok ? 'ok' : error.code] ?? 0) + 1
  return counts
}

test('a burst of two seconds, then the rate; each event and each session has its own', () => {
  const { limits } = loadConfig({ env: { MAX_EVENTS_PER_SECOND: '100,doc:signal=5,doc:history=0.5' } })
  const rates = createOperationRates(operationRatesOf(limits))
  const [session, other] = [{}, {}]
  const admitted = (/** @type {object} */ of, /** @type {string} */ event, /** @type {number} */ now) => {
    for (let count = 0; ; count++) {
      try {
        rates.take(of, event, now)
      } catch (error) {
        assert.equal(/** @type {any} */ (error).code, 'rate_limited')
        assert.ok(/** @type {any} */ (error).retryInMs > 0)
        return count
      }
    }
  }
  assert.equal(admitted(session, 'doc:signal', 0), 10)
  assert.equal(admitted(session, 'doc:signal', 1000), 5)
  assert.equal(admitted(session, 'doc:history', 1000), 1)
  assert.equal(admitted(session, 'doc:history', 2000), 0)
  assert.equal(admitted(session, 'doc:history', 3000), 1)
  assert.equal(admitted(other, 'doc:signal', 1000), 10)
  // a clock that is set back
  assert.equal(admitted(session, 'doc:signal', 0), 0)
  for (let i = 0; i < 1000; i++) rates.take(session, 'doc:send', 0)
})

test('wrong rates are refused with the names', () => {
  for (const wrong of ['doc:history', 'doc:history=0', 'doc:fly=1', 'doc:join=', 'doc:history=x', '20'])
    assert.throws(() => loadConfig({ env: { MAX_EVENTS_PER_SECOND: `9,${wrong}` } }), /each entry must be event=rate/)
  for (const wrong of ['0', '1000001', '1.5', '-1', 'x', 'doc:join=5', 'doc:join=5,9'])
    assert.throws(() => loadConfig({ env: { MAX_EVENTS_PER_SECOND: wrong } }), /must begin with a whole number from 1 to 1000000/)
})

test('joins above their rate are refused with a time to wait, and those of the handshake do not count', async (t) => {
  const { clock } = holdTime(t)
  const env = { MAX_EVENTS_PER_SECOND: '100,doc:join=1', MAX_DOCUMENTS_PER_CONNECTION: '20' }
  const server = await startEmbedded(t, env, undefined, { clock })
  const documents = Object.fromEntries(range(10).map((i) => [`early-${i}`, {}]))
  const client = await connectClient(t, server.url, { auth: { documents } })
  const join = (/** @type {number} */ count) =>
    Promise.all(range(count).map((i) => client.ask('doc:join', { guid: `early-${i % 10}` })))
  const first = await join(20)
  assert.deepEqual(tally(first), { ok: 20 })
  const refused = (await join(10)).filter(({ ok }) => !ok)
  assert.equal(refused.length, 10)
  for (const { error } of refused) {
    assert.deepEqual([error.code, error.retryable, error.message], ['rate_limited', true, 'too many doc:join events'])
    assert.ok(error.retryInMs > 0 && error.retryInMs <= 1000)
  }
  // other events are not affected, and the client stays connected
  assert.equal((await client.ask('doc:signal', { guid: 'early-0', event: 'cursor', data: 1 })).ok, true)
  const { values } = await server.metrics.client_events.get()
  assert.equal(
    values.find(({ labels }) => labels.event === 'doc:join' && labels.result === 'rate_limited')?.value, refused.length
  )
})

test('signals and other operations have their own rates, also after a new CONNECT on the same session', async (t) => {
  const { clock } = holdTime(t)
  const env = { MAX_EVENTS_PER_SECOND: '100,doc:signal=1,doc:members=1,doc:send=1' }
  const server = await startEmbedded(t, env, undefined, { clock })
  const client = await connectClient(t, server.url)
  await client.ask('doc:join', { guid: 'doc' })
  const ask = (/** @type {string} */ event, /** @type {object} */ more) =>
    Promise.all(range(8).map(() => client.ask(event, { guid: 'doc', ...more })))
  for (const [event, more] of /** @type {[string, object][]} */ ([
    ['doc:signal', { event: 'cursor', data: 1 }], ['doc:members', {}], ['doc:send', { event: 'edit', data: 1 }]
  ])) {
    assert.deepEqual(tally(await ask(event, more)), { ok: 2, rate_limited: 6 }, event)
  }
  assert.deepEqual(tally(await Promise.all(range(50).map(() => client.ask('doc:join', { guid: 'doc' })))), { ok: 50 })
})
