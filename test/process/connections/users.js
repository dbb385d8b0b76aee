import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { waitFor } from '../../helpers/wait.js'

/**
 * Messages for users, and receipts.
 * @param {import('./world.js').World} world
 * @param {import('./world.js').Door} door
 */
export function usersContract ({ connect, publish, toEveryone, inkcast, receipts }, door) {
  const note = { 'x-event': 'note' }

  test('messages for a user, and for a connection, reach those and no other', { skip: door.cannot.headers }, async (t) => {
    const uid = randomUUID()
    const clients = [await connect(t, door, {}, uid), await connect(t, door, {}, uid), await connect(t, door)]
    await inkcast.post(`/v1/users/${uid}/send`, 'for the user', note)
    await inkcast.post(`/v1/sockets/${clients[1].id}/send`, 'for a connection', note)
    await toEveryone(clients)
    assert.deepEqual(
      clients.map(({ received }) => received.filter(({ event }) => event === 'note').map(({ payload }) => payload)),
      [['for the user'], ['for the user', 'for a connection'], []]
    )
  })

  test('the log of a user continues when its client comes back, once and in order', { skip: door.cannot.headers }, async (t) => {
    const uid = randomUUID()
    const send = (/** @type {number} */ number) => inkcast.post(`/v1/users/${uid}/send`, number, { ...note, 'x-keep': 'true' })
    const notes = (/** @type {typeof first} */ { received }) =>
      received.filter(({ event }) => event === 'note').map(({ payload }) => payload)
    const first = await connect(t, door, { user: {} }, uid)
    await send(1)
    await first.event('note')
    first.cut()
    await waitFor(() => !inkcast.gateway.directory.hasUser(uid))
    for (const number of [2, 3]) await send(number)
    const again = await connect(t, door, first.returns(), uid)
    await waitFor(() => notes(again).length >= 2, { message: () => again.received })
    await send(4)
    await waitFor(() => notes(again).length >= 3, { message: () => again.received })
    assert.deepEqual([notes(first), notes(again)], [[1], [2, 3, 4]])
  })

  test('the log of a user resumes at its position, and what was missed comes first', { skip: door.cannot.positions }, async (t) => {
    const uid = randomUUID()
    const first = await connect(t, door, { user: {} }, uid)
    const { position } = (await first.event('gateway:user')).payload
    await inkcast.post(`/v1/users/${uid}/send`, 1, { ...note, 'x-keep': 'true' })
    const { meta } = await first.event('note')
    assert.deepEqual(meta.user, { epoch: position.epoch, offset: position.offset + 1 })
    first.cut()
    for (const number of [2, 3]) await inkcast.post(`/v1/users/${uid}/send`, number, { ...note, 'x-keep': 'true' })
    const again = await connect(t, door, { user: meta.user }, uid)
    assert.deepEqual((await again.event('gateway:user')).payload, {
      position: { epoch: position.epoch, offset: position.offset + 3 }, recovered: true
    })
    assert.deepEqual(
      again.received.filter(({ event }) => /^(?:note|gateway:user)$/.test(event))
        .map(({ event, payload }) => event === 'note' ? payload : event),
      [2, 3, 'gateway:user']
    )
  })

  test('a record with a receipt is acknowledged, others ask for nothing', async (t) => {
    const guid = randomUUID()
    const client = await connect(t, door)
    await client.join(guid)
    await publish(guid, 'usual')
    await publish(guid, 'asks', { 'x-receipt': 'true' })
    await waitFor(() => client.records(guid).length === 2, { message: () => client.received })
    const [usual, asks] = client.records(guid)
    assert.equal(usual.acknowledge, undefined)
    asks.acknowledge?.()
    const told = await waitFor(() => receipts().find((receipt) => receipt.guid === guid), { message: receipts })
    assert.deepEqual([told.receipt.delivered, told.receipt.acknowledged, told.receipt.missing], [1, 1, []])
  })
}
