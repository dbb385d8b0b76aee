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
    assert.deepEqual([joined.ok, joined.guid], [true, guid])
    const bytes = Buffer.from([1, 2, 3])
    for (const value of [{ a: 'é' }, [1, null], encodeMsgpack({ bytes })]) await publish(guid, value, { 'x-event': 'edit' })
    await waitFor(() => client.records(guid).length === 3, { message: () => client.received })
    const records = client.records(guid)
    assert.deepEqual(records.map(({ payload }) => payload), [{ a: 'é' }, [1, null], { bytes: door.shown(bytes) }])
    assert.deepEqual(await client.leave(guid), { ok: true, guid })
    await publish(guid, 'after')
    await toEveryone([client])
    assert.equal(client.records(guid).length, 3)
  })

  test('a record has its event, its offset and its trace', { skip: door.cannot.headers }, async (t) => {
    const guid = randomUUID()
    const client = await connect(t, door)
    await client.join(guid)
    for (const value of [1, 2, 3]) await publish(guid, value, { 'x-event': 'edit' })
    await waitFor(() => client.records(guid).length === 3, { message: () => client.received })
    const records = client.records(guid)
    assert.deepEqual(records.map(({ event, meta }) => [event, meta.offset]), [['edit', 1], ['edit', 2], ['edit', 3]])
    assert.equal(typeof records[0].meta.traceId, 'string')
  })

  test('a client that comes back gets what it missed, once and in order, and then what follows', async (t) => {
    const guid = randomUUID()
    const uid = randomUUID()
    const first = await connect(t, door, {}, uid)
    await first.join(guid)
    await publish(guid, 'before')
    await waitFor(() => first.records(guid).length === 1, { message: () => first.received })
    first.cut()
    await waitFor(() => !inkcast.gateway.directory.hasUser(uid))
    for (const value of ['first', 'second']) await publish(guid, value)
    const again = await connect(t, door, first.returns(), uid)
    await waitFor(() => again.records(guid).length >= 2, { message: () => again.received })
    await publish(guid, 'third')
    await waitFor(() => again.records(guid).length >= 3, { message: () => again.received })
    assert.deepEqual(again.records(guid).map(({ payload }) => payload), ['first', 'second', 'third'])
  })

  test('a client that comes back when the log has lost what it missed learns that it has to load the document', async (t) => {
    const guid = randomUUID()
    const uid = randomUUID()
    const first = await connect(t, door, {}, uid)
    await first.join(guid)
    first.cut()
    await waitFor(() => !inkcast.gateway.directory.hasUser(uid))
    for (const value of ['first', 'second']) await publish(guid, value)
    const { position } = (await (await fetch(`${inkcast.apiUrl}/v1/documents/${guid}/history`)).json())
    assert.equal((await inkcast.post(`/v1/documents/${guid}/cut`, position)).status, 200)
    const again = await connect(t, door, first.returns(), uid)
    assert.deepEqual((await again.event('doc:resync')).payload, { guid, position, reason: 'trimmed' })
    await publish(guid, 'third')
    await waitFor(() => again.records(guid).length >= 1, { message: () => again.received })
    assert.deepEqual(again.records(guid).map(({ payload }) => payload), ['third'])
  })

  test('a client that resumes at its position gets what it missed before the answer', { skip: door.cannot.positions }, async (t) => {
    const guid = randomUUID()
    const first = await connect(t, door)
    const { position, recovered } = await first.join(guid)
    assert.equal(recovered, false)
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

  test('a client whose position is not in the log learns of it before the answer', { skip: door.cannot.positions }, async (t) => {
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

  test('messages reach everyone who has the document open, and signals everyone but their sender', async (t) => {
    const guid = randomUUID()
    const [sender, other] = [await connect(t, door), await connect(t, door)]
    for (const client of [sender, other]) assert.equal((await client.join(guid)).ok, true)
    assert.equal((await sender.signal(guid, 'cursor', { x: 5 })).ok, true)
    for (const text of ['one', 'two', 'three']) assert.equal((await sender.send(guid, { text })).ok, true)
    for (const client of [sender, other])
      await waitFor(() => client.records(guid).at(-1)?.payload.text === 'three', { message: () => client.received })
    const messages = ['one', 'two', 'three'].map((text) => ['message', { text }])
    const [own, others] = [sender, other].map((client) =>
      client.records(guid).map(({ event, payload }) => [event, payload]))
    assert.deepEqual(own, messages)
    assert.deepEqual(others, [['cursor', { x: 5 }], ...messages])
  })

  test('messages and signals say who sent them', { skip: door.cannot.senders }, async (t) => {
    const guid = randomUUID()
    const [sender, other] = [await connect(t, door), await connect(t, door)]
    for (const client of [sender, other]) await client.join(guid)
    await sender.signal(guid, 'cursor', 1)
    await sender.send(guid, 2)
    await waitFor(() => other.records(guid).length === 2, { message: () => other.received })
    const from = other.records(guid).map(({ meta }) => [meta.from, meta.offset])
    assert.deepEqual(from, [[sender.id, undefined], [sender.id, 1]])
  })

  test('history has the newest messages, and says whether there are more', { skip: door.cannot.history }, async (t) => {
    const guid = randomUUID()
    const client = await connect(t, door)
    await client.join(guid)
    for (const text of ['one', 'two', 'three']) await client.send(guid, { text })
    const { records, more, position } = await client.history(guid, { limit: 2 })
    assert.deepEqual(records.map((/** @type {any} */ { payload }) => payload.text), ['two', 'three'])
    assert.deepEqual([more, position.offset], [true, 3])
  })

  test('members come with the answer, their changes as events, until they leave', { skip: door.cannot.members }, async (t) => {
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
