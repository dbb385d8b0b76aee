import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { AUTH_JWT_SECRET: SECRET })
const bus = watchBus(server)

/** @typedef {Awaited<ReturnType<typeof connectClient>>} Client */

/**
 * Three tabs of Anna, on each transport and both codecs, and one of Ben, all in the document `doc`.
 * @param {import('node:test').TestContext} t
 */
async function fourTabs (t) {
  const tokens = { anna: await signToken({ sub: 'anna' }), ben: await signToken({ sub: 'ben' }) }
  const auth = (/** @type {string} */ token, /** @type {string} */ client) => ({
    token,
    client,
    documents: { doc: null }
  })
  const tabs = await Promise.all([
    connectClient(t, server.url, { auth: auth(tokens.anna, 'anna-1') }),
    connectClient(t, server.url, { auth: auth(tokens.anna, 'anna-2'), codec: 'msgpack' }),
    connectClient(t, server.url, { auth: auth(tokens.anna, 'anna-3'), transports: ['polling'] }),
    connectClient(t, server.url, { auth: auth(tokens.ben, 'ben-1') })
  ])
  await waitFor(() => tabs.every(({ received }) => received.some(({ event }) => event === 'doc:joined')))
  for (const { received } of tabs) received.length = 0
  return tabs
}

/** @param {Client[]} tabs @returns {unknown[][]} payloads received by each tab */
const payloads = (tabs) => tabs.map(({ received }) => received.map(({ payload }) => payload))

/** @param {string} path */
const remove = async (path) => (await fetch(server.apiUrl + path, { method: 'DELETE' })).status

/** @param {Client} tab @returns {Promise<{ reason: string, events: unknown[] }>} */
async function ended (tab) {
  const [reason] = await tab.next('disconnect')
  return { reason, events: tab.received.map(({ event, payload }) => [event, payload.code]) }
}

describe('a record', () => {
  test('for a user reaches all tabs of that user and no other client', async (t) => {
    const tabs = await fourTabs(t)
    assert.equal((await server.post('/v1/users/anna/send', { to: 'anna' }, { 'x-event': 'note' })).status, 202)
    await server.post('/v1/users/nobody/send', 'x')
    await server.post('/v1/broadcast', 'mark')
    await waitFor(() => tabs.every(({ received }) => received.at(-1)?.payload === 'mark'))
    assert.deepEqual(payloads(tabs), [
      [{ to: 'anna' }, 'mark'],
      [{ to: 'anna' }, 'mark'],
      [{ to: 'anna' }, 'mark'],
      ['mark']
    ])
    const [{ event, meta }] = tabs[0].received
    assert.equal(event, 'note')
    assert.deepEqual(Object.keys(meta), ['traceId', 'ts'])
  })

  test('for a socket reaches only that one', async (t) => {
    const tabs = await fourTabs(t)
    for (const tab of tabs) assert.equal((await server.post(`/v1/sockets/${tab.id}/send`, tab.id)).status, 202)
    await server.post('/v1/sockets/AAAAAAAAAAAAAAAAAAAA/send', 'nobody')
    await server.post('/v1/broadcast', 'mark')
    await waitFor(() => tabs.every(({ received }) => received.at(-1)?.payload === 'mark'))
    assert.deepEqual(payloads(tabs), tabs.map(({ id }) => [id, 'mark']))
  })

  test('does not reach excluded clients or connections', async (t) => {
    const tabs = await fourTabs(t)
    await server.post('/v1/documents/doc/broadcast', 1, { 'x-except': `anna-1, ${tabs[3].id}` })
    await server.post('/v1/users/anna/send', 2, { 'x-except': `anna-2,${tabs[2].id}` })
    await server.post('/v1/broadcast', 3, { 'x-except': 'anna-3,ben' })
    await server.post(`/v1/sockets/${tabs[3].id}/send`, 4, { 'x-except': 'ben-1' })
    await server.post('/v1/documents/doc/broadcast', 'mark')
    await waitFor(() => tabs.every(({ received }) => received.at(-1)?.payload === 'mark'))
    assert.deepEqual(payloads(tabs), [[2, 3, 'mark'], [1, 3, 'mark'], [1, 'mark'], [3, 'mark']])
    assert.deepEqual(tabs[0].received.at(-1)?.meta.offset, tabs[1].received[0].meta.offset + 1)
  })

  test('that is ephemeral has no offset, and is not in the log', async (t) => {
    const tabs = await fourTabs(t)
    const before = /** @type {any} */ (await (await fetch(`${server.apiUrl}/v1/documents/doc/position`)).json())
      .position
    await server.post('/v1/documents/doc/broadcast', 'gone', { 'x-ephemeral': 'true' })
    await server.post('/v1/documents/doc/broadcast', 'kept')
    await waitFor(() => tabs.every(({ received }) => received.length === 2))
    const [gone, kept] = tabs[0].received
    assert.deepEqual([Object.keys(gone.meta), kept.meta.offset], [['guid', 'traceId', 'ts'], before.offset + 1])
    const late = await connectClient(t, server.url, {
      auth: { token: await signToken({ sub: 'late' }), documents: { doc: before } }
    })
    await waitFor(() => late.received.some(({ event }) => event === 'doc:joined'))
    assert.deepEqual(late.received.map(({ payload }) => payload.guid ?? payload), ['kept', 'doc'])
  })

  test('with a reserved event is refused and not delivered', async (t) => {
    const tabs = await fourTabs(t)
    for (const event of ['disconnect', 'connect_error', 'doc:joined', 'gateway:disconnect', 'auth:expiring']) {
      for (const path of [
        '/v1/documents/doc/broadcast',
        '/v1/users/anna/send',
        `/v1/sockets/${tabs[0].id}/send`,
        '/v1/broadcast'
      ]) {
        const { status, body } = await server.post(path, 'x', { 'x-event': event })
        assert.deepEqual([status, body.error.code], [400, 'reserved_event'])
      }
    }
    await server.post('/v1/broadcast', 'mark')
    await waitFor(() => tabs.every(({ received }) => received.length > 0))
    assert.deepEqual(payloads(tabs), Array(4).fill(['mark']))
  })
})

describe('a kick', () => {
  const told = { reason: 'io server disconnect', events: [['gateway:disconnect', 'kicked']] }

  test('of a user ends all tabs of that user, on every transport, with the reason', async (t) => {
    const tabs = await fourTabs(t)
    const ends = Promise.all(tabs.slice(0, 3).map(ended))
    assert.equal(await remove('/v1/users/anna/connections'), 202)
    assert.deepEqual(await ends, Array(3).fill(told))
    assert.equal(tabs[3].connected, true)
    await waitFor(() => server.gateway.connections === 1)
    assert.deepEqual([...bus.users], ['ben'])
  })

  test('of a connection ends only that one', async (t) => {
    const tabs = await fourTabs(t)
    for (const [kicked, left] of [[1, 3], [2, 2]]) {
      const end = ended(tabs[kicked])
      assert.equal(await remove(`/v1/sockets/${tabs[kicked].id}`), 202)
      assert.deepEqual(await end, told)
      await waitFor(() => server.gateway.connections === left)
    }
    // the user is still connected with the other tab
    await server.post('/v1/users/anna/send', 'for anna')
    await server.post('/v1/broadcast', 'mark')
    await waitFor(() => [0, 3].every((i) => tabs[i].received.at(-1)?.payload === 'mark'))
    assert.deepEqual(payloads([tabs[0], tabs[3]]), [['for anna', 'mark'], ['mark']])
  })

  test('differs from a lost connection', async (t) => {
    const [tab] = await fourTabs(t)
    const end = ended(tab)
    for (const { conn } of server.gateway.io.sockets.sockets.values())
      if (conn.transport.name === 'websocket') /** @type {any} */ (conn).terminate()
    assert.deepEqual(await end, { reason: 'transport close', events: [] })
  })
})

test('a revoke removes all tabs of the user from the document, and no other', async (t) => {
  const tabs = await fourTabs(t)
  assert.equal((await server.post('/v1/documents/doc/revoke', { uid: 'anna' })).status, 202)
  await server.post('/v1/documents/other/revoke', { uid: 'ben' })
  await waitFor(() => tabs.slice(0, 3).every(({ received }) => received.length === 1))
  await server.post('/v1/documents/doc/broadcast', 'for ben')
  await waitFor(() => tabs[3].received.length === 1)
  await delay(20)
  assert.deepEqual(tabs.map(({ received }) => received.map(({ event, payload }) => [event, payload])),
    [...Array(3).fill([['doc:revoked', { guid: 'doc' }]]), [['message', 'for ben']]])
  const answer = await tabs[0].ask('doc:send', { guid: 'doc', data: 1 })
  assert.equal(answer.error.code, 'not_joined')
  for (const tab of tabs) tab.disconnect()
  await nothingLeft(server, bus)
})
