import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { plainClient } from '../../helpers/plain-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const inkcast = await startEmbedded({ after }, {
  LISTENERS: 'ws:/websocket/handshake', AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'true'
})

describe('a device', () => {
  /**
   * @param {string} method
   * @param {string} path
   * @param {{ uid?: string, value?: unknown, headers?: Record<string, string> }} [options]
   */
  async function call (method, path, { uid, value, headers } = {}) {
    const answer = await fetch(`${inkcast.apiUrl}/v1/devices/${path}`, {
      method,
      headers: { ...uid !== undefined && { 'x-uid': uid }, ...value !== undefined && { 'content-type': 'application/json' }, ...headers },
      ...value !== undefined && { body: JSON.stringify(value) }
    })
    return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
  }

  /**
   * @param {import('node:test').TestContext} t
   * @param {string} uid
   * @param {string} id
   * @param {object} [auth] more of the first message
   */
  async function connect (t, uid, id, auth = {}) {
    const device = await plainClient(t, inkcast.url, { query: '?auth=message' })
    device.send({ event: 'gateway:connect', payload: { token: await signToken({ sub: uid }), client: id, ...auth } })
    await device.event('gateway:connected')
    return device
  }

  test('that comes back counts as no new connection of its user', async (t) => {
    const uid = randomUUID()
    const most = 50
    const devices = await Promise.all(Array.from({ length: most }, (_, i) => connect(t, uid, `board-${i}`)))
    const refused = await plainClient(t, inkcast.url, { query: `?id=another&token=${await signToken({ sub: uid })}` })
    assert.equal((await refused.event('gateway:disconnect')).payload.code, 'too_many_connections')
    await connect(t, uid, 'board-7')
    assert.equal((await devices[7].event('gateway:disconnect')).payload.code, 'replaced')
    await waitFor(() => [...inkcast.gateway.directory.user(uid)].length === most)
  })

  test('gets its records over HTTP, a batch and gRPC\'s fields, and no other connection does', async (t) => {
    const uid = randomUUID()
    const board = await connect(t, uid, 'board')
    const others = [await connect(t, uid, 'phone'), await connect(t, randomUUID(), 'board')]
    const page = await connectClient(t, inkcast.url, { auth: { token: await signToken({ sub: uid }), client: 'tab' } })
    assert.equal((await call('POST', 'board/send', { uid, value: 1, headers: { 'x-event': 'set' } })).status, 202)
    const { body } = await inkcast.post('/v1/publish', {
      publications: [
        { operator: 'device', uid, device: 'board', event: 'set', value: 2 },
        { operator: 'device', uid, device: 'tab', event: 'set', value: 3 },
        { operator: 'device', uid, event: 'set' }, { operator: 'user', uid, device: 'board', event: 'set' },
        { operator: 'kick', uid, device: 'board', ttl: 60 }
      ]
    })
    assert.deepEqual(body.results.map((/** @type {any} */ { error }) => error?.code),
      [undefined, undefined, 'missing_target', 'bad_target', 'bad_header'])
    assert.equal((await call('POST', 'board/send', { uid, value: 4, headers: { 'x-event': 'last' } })).status, 202)
    await inkcast.post(`/v1/users/${uid}/send`, 5, { 'x-event': 'set' })
    const values = (/** @type {{ received: any[] }} */ { received }) =>
      received.filter(({ event }) => event === 'set').map(({ payload }) => payload)
    await board.event('last')
    await waitFor(() => values(board).length === 3 && values(others[0]).length === 1 && values(page).length === 2)
    assert.deepEqual([board, ...others, page].map(values), [[1, 2, 5], [5], [], [3, 5]])
  })

  test('a record with x-keep is in the log of its user, and only the device gets it, also later', async (t) => {
    const uid = randomUUID()
    const page = await connect(t, uid, 'page', { user: {} })
    const board = await connect(t, uid, 'board', { user: {} })
    const { position } = (await board.event('gateway:user')).payload
    await page.event('gateway:user')
    board.ws.terminate()
    const keep = { 'x-keep': 'true', 'x-event': 'set', 'x-key': 'speed' }
    for (const value of [1, 2]) assert.equal((await call('POST', 'board/send', { uid, value, headers: keep })).status, 202)
    assert.equal((await call('POST', 'lamp/send', { uid, value: 3, headers: keep })).status, 202)
    await inkcast.post(`/v1/users/${uid}/send`, 4, { 'x-keep': 'true', 'x-event': 'set' })
    const again = await connect(t, uid, 'board', { user: position })
    const values = (/** @type {{ received: any[] }} */ { received }) =>
      received.filter(({ event }) => event === 'set').map(({ payload }) => payload)
    await waitFor(() => values(again).at(-1) === 4 && values(page).at(-1) === 4)
    assert.deepEqual([values(again), values(page)], [[2, 4], [4]])
    const history = /** @type {any} */ (await (await fetch(`${inkcast.apiUrl}/v1/users/${uid}/history`)).json())
    assert.deepEqual(history.records.map((/** @type {any} */ { device, value }) => [device, value]),
      [['board', 2], ['lamp', 3], [undefined, 4]])
  })

  test('is replaced, kicked and described; without a token it is the user of its id', async (t) => {
    const id = randomUUID()
    const old = await plainClient(t, inkcast.url, { query: `?id=${id}` })
    const uid = `anonymous:device:${id}`
    assert.equal((await old.event('gateway:connected')).payload.uid, uid)
    const device = await plainClient(t, inkcast.url, { query: `?id=${id}` })
    await device.event('gateway:connected')
    const { code, retryable } = (await old.event('gateway:disconnect')).payload
    assert.deepEqual([code, retryable, await old.closed], ['replaced', false, { code: 1008, reason: 'replaced' }])
    assert.equal((await call('POST', `${id}/send`, { value: 'hello' })).status, 202)
    assert.equal((await device.event('message')).payload, 'hello')

    const described = async () => (await call('GET', id)).body
    await waitFor(async () => (await described()).sessions.length === 1)
    const { online, sessions: [session], ...rest } = await described()
    assert.deepEqual([online, rest.uid, rest.device, session.client, session.listener], [true, uid, id, id, 'ws:/websocket/handshake'])
    assert.equal((await call('GET', `${id}?uid=another`)).body.online, false)
    assert.deepEqual((await call('DELETE', id)).body.connections, 1)
    assert.deepEqual(await device.closed, { code: 1008, reason: 'kicked' })
    await waitFor(async () => !(await described()).online)
    assert.ok((await described()).lastSeen >= session.connectedAt)
    const page = await connectClient(t, inkcast.url, { auth: { client: id } })
    assert.equal((await call('GET', id)).body.online, false, 'a page is not a device')
    page.close()
  })
})
