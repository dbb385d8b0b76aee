import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { MAX_DOCUMENTS, MAX_RECORD } from './world.js'

/** More than one message may have, bytes. */
const TOO_LONG = 2 * MAX_RECORD

/** @param {number} levels */
const nested = (levels) => Array.from({ length: levels }).reduce((value) => [value], 0)

/** What clients may send. @param {import('./world.js').World} world @param {import('./world.js').Door} door */
export function limitsContract ({ connect }, door) {
  test('a request that is wrong, or exceeds a limit, is refused with its code, and the connection goes on', async (t) => {
    const client = await connect(t, door)
    const [guid, ...more] = Array.from({ length: MAX_DOCUMENTS }, () => randomUUID())
    assert.equal((await client.join(guid)).ok, true)
    for (const other of more) await client.join(other)
    /** @type {[string, Promise<any>][]} */
    const refused = [
      ['unknown_event', client.ask('no:event', {})],
      ['bad_request', client.join('')],
      ['bad_request', client.ask('doc:join', 'guid')],
      ['bad_request', client.join(guid, { unknown: 1 })],
      ['reserved_event', client.signal(guid, 'doc:joined', 1)],
      ['not_joined', client.history(randomUUID())],
      ['too_many_documents', client.join(randomUUID())],
      ['bad_value', client.send(guid, nested(300))],
      ['value_too_large', client.send(guid, 'x'.repeat(MAX_RECORD + 1))]
    ]
    for (const [code, asked] of refused) assert.equal((await asked).error?.code, code)
    assert.equal((await client.send(guid, 'goes on')).ok, true)
  })

  test('requests above the rate are refused, and a flood of them ends the connection', async (t) => {
    const client = await connect(t, door)
    const asked = Array.from({ length: 300 }, () => client.ask('gateway:check', {}))
    const answers = await Promise.all(asked)
    assert.equal(answers[0].ok, true)
    assert.deepEqual([answers[299].error.code, answers[299].error.retryable], ['rate_limited', true])
    for (let i = 0; i < 40; i++) client.ask('gateway:check', { fill: 'x'.repeat(MAX_RECORD - 1000) }).catch(() => {})
    const { payload } = await client.event('gateway:disconnect')
    assert.deepEqual([payload.code, payload.retryable, payload.retryInMs > 0], ['rate_limited', true, true])
    await client.ended
  })

  test('a message that is none ends the connection with the reason, and one that is too long with 1009', async (t) => {
    const wrong = await connect(t, door)
    wrong.sendGarbage()
    assert.equal((await wrong.event('gateway:disconnect')).payload.code, 'bad_value')
    await wrong.ended
    const long = await connect(t, door)
    long.sendGarbage(TOO_LONG)
    assert.equal(await long.ended, 1009)
  })
}
