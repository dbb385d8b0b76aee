import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { AUTH_JWT_SECRET: SECRET, HISTORY_SIZE: '50' })
const bus = watchBus(server)

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uid
 * @param {{ epoch?: string, offset?: number } | null} [user] undefined: a connection that does not read the log
 * @param {object} [options]
 */
async function connect (t, uid, user, options = {}) {
  const token = await signToken({ sub: uid })
  return connectClient(t, server.url, { ...options, auth: { token, ...(user !== undefined && { user }) } })
}

/** @typedef {Awaited<ReturnType<typeof connect>>} Client */

/** @param {Client} client @param {string} event */
const all = ({ received }, event) => received.filter((item) => item.event === event)

/** @param {Client} client @returns {Promise<{ position: { epoch: string, offset: number }, recovered: boolean }>} */
async function opened (client) {
  await waitFor(() => all(client, 'gateway:user').length > 0, { message: 'gateway:user' })
  return all(client, 'gateway:user')[0].payload
}

/** @param {string} uid @param {unknown} value @param {Record<string, string>} [headers] */
const send = (uid, value, headers = {}) =>
  server.post(`/v1/users/${uid}/send`, value, { 'x-keep': 'true', 'x-event': 'note', ...headers })

/** @param {Client} client */
const notes = (client) => all(client, 'note').map(({ payload }) => payload)

describe('a kept record for a user', () => {
  test('reaches connections with and without the log once each; only the first see its position', async (t) => {
    const reader = await connect(t, 'anna', {}, { codec: 'msgpack' })
    const plain = await connect(t, 'anna')
    const { position, recovered } = await opened(reader)
    assert.equal(recovered, false)
    assert.equal((await send('anna', 1)).status, 202)
    await server.post('/v1/users/anna/send', 2, { 'x-event': 'note' })
    await send('anna', 3)
    await server.post('/v1/broadcast', 'mark', { 'x-event': 'mark' })
    await waitFor(() => [reader, plain].every((client) => all(client, 'mark').length > 0 && notes(client).length >= 3))
    assert.deepEqual(notes(reader).sort(), [1, 2, 3])
    assert.deepEqual(notes(plain), [1, 2, 3])
    assert.deepEqual(
      all(reader, 'note').map(({ meta }) => meta.user).filter((user) => user !== undefined),
      [{ epoch: position.epoch, offset: 1 }, { epoch: position.epoch, offset: 2 }]
    )
    assert.ok(all(plain, 'note').every(({ meta }) => meta.user === undefined && meta.offset === undefined))
  })

  test('survives a reconnect: what was missed comes first, in order, then what is new', async (t) => {
    const first = await connect(t, 'ben', {})
    const { position } = await opened(first)
    await send('ben', 1)
    await waitFor(() => notes(first).length === 1)
    first.disconnect()
    for (const i of [2, 3, 4]) await send('ben', i)
    const again = await connect(t, 'ben', { epoch: position.epoch, offset: 1 })
    assert.deepEqual(await opened(again), { position: { epoch: position.epoch, offset: 4 }, recovered: true })
    await send('ben', 5)
    await waitFor(() => notes(again).length >= 4)
    assert.deepEqual(notes(again), [2, 3, 4, 5])
    assert.deepEqual(all(again, 'note').map(({ meta }) => meta.user.offset), [2, 3, 4, 5])
    const order = again.received.map(({ event }) => event)
    assert.equal(order.indexOf('gateway:user'), 3)
  })

  test('published during the handshake is not missed', async (t) => {
    for (let round = 0; round < 20; round++) {
      const uid = `racer-${round}`
      let last = 0
      let running = true
      const publishing = (async () => { while (running) await send(uid, ++last) })()
      const client = await connect(t, uid, {})
      const { position } = await opened(client)
      running = false
      await publishing
      await waitFor(() => notes(client).at(-1) === last || notes(client).length === 0)
      await send(uid, ++last)
      await waitFor(() => notes(client).at(-1) === last)
      const got = notes(client)
      assert.deepEqual(got, Array.from(got, (_, i) => last - got.length + 1 + i))
      assert.ok(position.offset >= 0)
    }
  })

  test('that is not in the log any more leads to a resync, and so does a position of another log', async (t) => {
    const first = await connect(t, 'cleo', {})
    const { position: { epoch } } = await opened(first)
    for (let i = 1; i <= 60; i++) await send('cleo', i)
    const late = await connect(t, 'cleo', { epoch, offset: 2 })
    assert.deepEqual(await opened(late), { position: { epoch, offset: 60 }, recovered: false })
    assert.deepEqual(all(late, 'gateway:resync').map(({ payload }) => payload), [
      { position: { epoch, offset: 60 }, reason: 'trimmed' }
    ])
    const other = await connect(t, 'cleo', { epoch: 'another', offset: 60 })
    assert.deepEqual((await opened(other)).recovered, false)
    assert.equal(all(other, 'gateway:resync')[0].payload.reason, 'epoch')
  })

  test('is for its user only: the log can be opened neither as a document nor by another user', async (t) => {
    const other = await connect(t, 'dora', {})
    await opened(other)
    await send('emil', 'secret')
    const answer = await other.ask('doc:join', { guid: '\u0001user:emil' })
    assert.equal(answer.error.code, 'bad_request')
    const { status } = await fetch(`${server.apiUrl}/v1/documents/${encodeURIComponent('\u0001user:emil')}/history`)
    assert.equal(status, 400)
    await send('dora', 'mark')
    await waitFor(() => notes(other).length > 0)
    assert.deepEqual(notes(other), ['mark'])
  })

  test('is not sent to a kicked user', async (t) => {
    const client = await connect(t, 'fay', {})
    await opened(client)
    await fetch(`${server.apiUrl}/v1/users/fay/connections`, { method: 'DELETE' })
    await waitFor(() => !client.connected)
    await send('fay', 1)
    assert.deepEqual(notes(client), [])
  })

  test('is in the history of the user', async () => {
    for (const i of [1, 2, 3]) await send('gus', { i })
    const { ok, uid, position, records } =
      /** @type {any} */ (await (await fetch(`${server.apiUrl}/v1/users/gus/history?limit=2`)).json())
    assert.deepEqual([ok, uid, position.offset], [true, 'gus', 3])
    const found = records.map((/** @type {any} */ { offset, value }) => [offset, value])
    assert.deepEqual(found, [[2, { i: 2 }], [3, { i: 3 }]])
  })

  test('goes neither with a receipt nor with another operator, and says so', async () => {
    assert.equal((await send('hal', 1, { 'x-receipt': 'true' })).status, 400)
    const { body } = await server.post('/v1/publish', {
      publications: [
        { guid: 'doc', event: 'x', value: 1, keep: true },
        { operator: 'user', uid: 'hal', value: 2, keep: true }
      ]
    })
    assert.deepEqual([body.results[0].error.code, body.results[1].position.offset], ['bad_header', 1])
  })
})

test('an invalid position is refused alone: the client is connected without the log', async (t) => {
  const client = await connect(t, 'ida', { epoch: 'x' })
  await waitFor(() => all(client, 'gateway:refused').length > 0)
  const [{ payload: { field, error } }] = all(client, 'gateway:refused')
  assert.deepEqual([field, error.code], ['user', 'bad_request'])
  client.disconnect()
})

test('nothing is left of connections that have ended', async () => { await nothingLeft(server, bus) })
