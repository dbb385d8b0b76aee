import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { holdTime } from '../../helpers/held-time.js'
import { MAX_DOCUMENTS, MAX_RECORD, startWorld } from './world.js'

/** More than one message may have, bytes. */
const TOO_LONG = 2 * MAX_RECORD
/** More messages than a client may send at once. */
const MANY = 500

/** @param {number} levels */
const nested = (levels) => Array.from({ length: levels }).reduce((value) => [value], 0)

/** What clients may send. @param {import('./world.js').World} world @param {import('./world.js').Door} door */
export function limitsContract ({ connect }, door) {
  /** @param {import('./world.js').TestContext} t @returns a client of another inkcast, which refills no rate */
  const whileTimeStands = async (t) => (await startWorld(t, { clock: holdTime(t).clock })).connect(t, door)

  test('requests that there are not are refused with their code', { skip: door.cannot.requests }, async (t) => {
    const client = await connect(t, door)
    const guid = randomUUID()
    /** @type {[string, Promise<any>][]} */
    const refused = [
      ['unknown_event', client.ask('no:event', {})],
      ['bad_request', client.ask('doc:join', 'guid')],
      ['bad_request', client.join(guid, { unknown: 1 })],
      ['not_joined', client.history(guid)]
    ]
    for (const [code, asked] of refused) assert.equal((await asked).error?.code, code)
  })

  test('a request that is wrong, or too much, is refused, and the connection goes on', { skip: door.cannot.refusals }, async (t) => {
    const client = await connect(t, door)
    const [guid, ...more] = Array.from({ length: MAX_DOCUMENTS }, () => randomUUID())
    assert.equal((await client.join(guid)).ok, true)
    for (const other of more) await client.join(other)
    /** @type {[string, Promise<any>][]} */
    const refused = [
      ['bad_request', client.join('')],
      ['reserved_event', client.signal(guid, 'doc:joined', 1)],
      ['not_joined', client.signal(randomUUID(), 'cursor', 1)],
      ['too_many_documents', client.join(randomUUID())],
      ['bad_value', client.send(guid, nested(300))],
      ['value_too_large', client.send(guid, 'x'.repeat(MAX_RECORD + 1))]
    ]
    for (const [code, asked] of refused) assert.match((await asked).error?.code, door.told(code))
    assert.equal((await client.send(guid, 'goes on')).ok, true)
  })

  test('requests above the rate are refused, and a flood of them ends the connection', { skip: door.cannot.refusals }, async (t) => {
    const client = await whileTimeStands(t)
    const guid = randomUUID()
    await client.join(guid)
    const answers = await Promise.all(Array.from({ length: MANY }, (_, i) => client.send(guid, i)))
    assert.equal(answers[0].ok, true)
    const refused = answers.filter(({ ok }) => !ok)
    assert.ok(refused.length > 0)
    for (const { error } of refused) assert.match(error.code, door.told('rate_limited'))
    for (let i = 0; i < 40; i++) client.send(guid, 'x'.repeat(MAX_RECORD - 1000)).catch(() => {})
    const { payload } = await client.event('gateway:disconnect')
    assert.match(payload.code, door.told('rate_limited'))
    assert.deepEqual([payload.retryable, payload.retryInMs > 0], [true, true])
    await client.ended
  })

  test('a refusal because of the rate says that a retry may succeed', { skip: door.cannot.requests }, async (t) => {
    const client = await whileTimeStands(t)
    const answers = await Promise.all(Array.from({ length: MANY }, () => client.ask('gateway:check', {})))
    const { error } = answers.find(({ ok }) => !ok)
    assert.deepEqual([error.code, error.retryable], ['rate_limited', true])
  })

  test('a message that is none ends the connection with the reason, a long one with 1009', { skip: door.cannot.refusals }, async (t) => {
    const wrong = await connect(t, door)
    wrong.sendGarbage()
    assert.match((await wrong.event('gateway:disconnect')).payload.code, door.told('bad_value'))
    await wrong.ended
    const long = await connect(t, door)
    long.sendGarbage(TOO_LONG)
    assert.match(String(await long.ended), door.told(1009))
  })
}
