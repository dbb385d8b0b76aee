import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'
import { waitFor } from '../../helpers/wait.js'

/** Documents and their records. @param {import('./world.js').World} world @param {import('./world.js').Door} door */
export function documentsContract ({ connect, publish, toEveryone, inkcast }, door) {
  test('a client gets each record of a document once and in order, with all of its value, and nothing after it has left', async (t) => {
    const guid = randomUUID()
    const client = await connect(t, door)
    const joined = await client.join(guid)
    assert.deepEqual([joined.ok, joined.guid, joined.recovered], [true, guid, false])
    const bytes = Buffer.from([1, 2, 3])
    for (const value of [{ a: 'é' }, [1, null], encodeMsgpack({ bytes })]) await publish(guid, value, { 'x-event': 'edit' })
    await waitFor(() => client.records(guid).length === 3, { message: () => client.received })
    const records = client.records(guid)
    assert.deepEqual(records.map(({ payload }) => payload), [{ a: 'é' }, [1, null], { bytes: door.shown(bytes) }])
    assert.deepEqual(records.map(({ event }) => event), ['edit', 'edit', 'edit'])
    assert.deepEqual(records.map(({ meta }) => meta.offset - joined.position.offset), [1, 2, 3])
    assert.equal(typeof records[0].meta.traceId, 'string')
    assert.deepEqual(await client.leave(guid), { ok: true, guid })
    assert.equal((await client.leave(guid)).error.code, 'not_joined')
    await publish(guid, 'after')
    await toEveryone([client])
    assert.equal(client.records(guid).length, 3)
  })

  test('a client that resumes at its position gets what it missed, once and in order, before the answer', async (t) => {
    const guid = randomUUID()
    const first = await connect(t, door)
    const { position } = await first.join(guid)
    first.cut()
    for (const value of ['first', 'second']) await publish(guid, value)
    const next = { ...position, offset: position.offset + 2 }
    const asks = await connect(t, door)
    const joined = await asks.join(guid, { position })
    assert.deepEqual(asks.records(guid).map(({ payload }) => payload), ['first', 'second'])
    assert.deepEqual([joined.recovered, joined.position], [true, next])
    const opens = await connect(t, door, { documents: { [guid]: position } })
    assert.deepEqual((await opens.event('doc:joined')).payload, { guid, position: next, recovered: true })
    assert.deepEqual(
      opens.received.filter(({ event }) => !event.startsWith('gateway:')).map(({ event }) => event),
      ['message', 'message', 'doc:joined']
    )
  })

  test('a client whose position is not in the log learns before the answer that it has to load the document', async (t) => {
    const guid = randomUUID()
    const first = await connect(t, door)
    const { position } = await first.join(guid)
    for (const value of ['first', 'second']) await publish(guid, value)
    const end = { ...position, offset: position.offset + 2 }
    assert.equal((await inkcast.post(`/v1/documents/${guid}/cut`, end)).status, 200)
    for (const [from, reason] of [[position, 'trimmed'], [{ epoch: 'another', offset: 1 }, 'epoch']]) {
      const client = await connect(t, door)
      const joined = await client.join(guid, { position: from })
      assert.deepEqual([joined.recovered, joined.position], [false, end])
      assert.deepEqual(
        client.received.filter(({ event }) => event === 'doc:resync').map(({ payload }) => payload),
        [{ guid, position: end, reason }]
      )
      client.close()
      await client.ended
    }
  })

  test('messages reach everyone who has the document open, signals everyone but their sender, and history has the messages', async (t) => {
    const guid = randomUUID()
    const [sender, other] = [await connect(t, door), await connect(t, door)]
    const { position: { offset } } = await sender.join(guid)
    await other.join(guid)
    assert.equal((await sender.signal(guid, 'cursor', { x: 5 })).ok, true)
    for (const text of ['one', 'two', 'three']) assert.equal((await sender.send(guid, { text })).ok, true)
    for (const client of [sender, other])
      await waitFor(() => client.records(guid).at(-1)?.payload.text === 'three', { message: () => client.received })
    assert.deepEqual(sender.records(guid).map(({ event }) => event), ['message', 'message', 'message'])
    const [signal, message] = other.records(guid)
    assert.deepEqual([signal.event, signal.payload, signal.meta.from, signal.meta.offset], ['cursor', { x: 5 }, sender.id, undefined])
    assert.deepEqual([message.payload, message.meta.from, message.meta.offset], [{ text: 'one' }, sender.id, offset + 1])
    const { records, more, position } = await other.history(guid, { limit: 2 })
    assert.deepEqual(records.map((/** @type {any} */ { payload }) => payload.text), ['two', 'three'])
    assert.deepEqual([more, position.offset], [true, offset + 3])
  })

  test('members come with the answer, their changes as events, and a client that leaves is gone at once', async (t) => {
    const guid = randomUUID()
    const first = await connect(t, door, {}, 'first')
    assert.equal((await first.join(guid, { state: { at: 1 } })).count, 1)
    const second = await connect(t, door, {}, 'second')
    const { members } = await second.join(guid, { state: { at: 2 } })
    assert.deepEqual(members.map((/** @type {any} */ { uid }) => uid).sort(), ['first', 'second'])
    const told = (/** @type {string} */ change, /** @type {(member: any) => boolean} */ isIt) => waitFor(
      () => first.received.some(({ event, payload }) => event === 'doc:presence' && payload[change]?.some(isIt)),
      { message: () => `${change} among ${JSON.stringify(first.received)}` }
    )
    await told('joined', ({ uid }) => uid === 'second')
    assert.equal((await second.ask('doc:state', { guid, state: { at: 3 } })).ok, true)
    await told('changed', ({ state }) => state.at === 3)
    second.close()
    await told('left', (id) => id === second.id)
    assert.deepEqual((await first.members(guid)).members.map((/** @type {any} */ { uid }) => uid), ['first'])
  })
}
