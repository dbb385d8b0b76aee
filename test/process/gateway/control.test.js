import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawPolling } from '../../helpers/raw-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { systemClock } from '../../../src/base/common/clock.js'

/** Time that has passed for the clock beside real time, ms: it does not come back. */
let ahead = 0
/** When the clock stands. @type {{ now: number, monotonic: number } | undefined} */
let standing
const clock = {
  ...systemClock,
  now: () => (standing?.now ?? systemClock.now()) + ahead,
  monotonic: () => (standing?.monotonic ?? systemClock.monotonic()) + ahead
}

/**
 * Until the end of the test the clock goes with `ahead` only.
 * @param {import('node:test').TestContext} t
 */
function stand (t) {
  standing = { now: systemClock.now(), monotonic: systemClock.monotonic() }
  t.after(() => { standing = undefined })
}

const server = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET }, undefined, { clock })

let count = 0
const fresh = (/** @type {string} */ label) => `${label}-${++count}`
const seconds = () => Math.floor(clock.now() / 1000)
/** @param {any} answer */
const codeOf = ({ ok, error }) => ok ? 'ok' : error.code

/** @param {string} uid @param {number} [issued] seconds from now */
const tokenOf = (uid, issued = -5) => signToken({ sub: uid, iat: seconds() + issued, exp: seconds() + 600 })

/** @param {string} method @param {string} path @param {Record<string, string>} [headers] */
async function order (method, path, headers) {
  const answer = await fetch(server.apiUrl + path, { method, headers })
  const body = /** @type {any} */ (await answer.json())
  assert.equal(typeof body.traceId, 'string')
  delete body.traceId
  return { status: answer.status, ...body }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uid
 * @param {string[]} guids
 * @param {Parameters<typeof connectClient>[2]} [options]
 */
async function member (t, uid, guids, options = {}) {
  const client = await connectClient(t, server.url, { auth: { token: await tokenOf(uid) }, ...options })
  for (const guid of guids) assert.equal(codeOf(await client.ask('doc:join', { guid })), 'ok')
  return client
}

test('revoke and kick answer with the number of connections', async (t) => {
  const [uid, guid] = [fresh('ada'), fresh('doc')]
  const clients = [await member(t, uid, [guid]), await member(t, uid, [guid], { transports: ['polling'] }), await member(t, uid, [])]
  const gone = clients.slice(0, 2).map((client) => client.next('doc:revoked'))
  assert.deepEqual(await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid }), {
    status: 202, ok: true, connections: 2, workers: 1
  })
  await Promise.all(gone)
  assert.deepEqual(await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid }), {
    status: 202, ok: true, connections: 0, workers: 0
  })
  assert.deepEqual(await order('DELETE', `/v1/sockets/${clients[2].id}`), {
    status: 202, ok: true, connections: 1, workers: 1
  })
  assert.deepEqual(await order('DELETE', `/v1/users/${uid}/connections`), {
    status: 202, ok: true, connections: 2, workers: 1
  })
})

test('a revoke with a time keeps newer tokens out as well, until the time is over', async (t) => {
  stand(t)
  const [uid, guid] = [fresh('ben'), fresh('doc')]
  const client = await member(t, uid, [guid])
  assert.equal((await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid, 'x-ttl': '2' })).connections, 1)
  const newer = await connectClient(t, server.url, { auth: { token: await tokenOf(uid, 1) } })
  for (const one of [client, newer]) assert.equal(codeOf(await one.ask('doc:join', { guid })), 'forbidden')
  const opening = await connectClient(t, server.url, {
    auth: { token: await tokenOf(uid, 1), documents: { [guid]: { epoch: 'e', offset: 0 } } }
  })
  await waitFor(() => opening.received.some(({ event, payload }) => event === 'doc:refused' && payload.guid === guid), {
    message: () => opening.received
  })
  ahead += 1900
  assert.equal(codeOf(await client.ask('doc:join', { guid })), 'forbidden')
  ahead += 200
  // the worker knows Redis' time but for the duration of a request, until it renews its lease;
  // it was the time, and not a token, that closed it
  for (const one of [client, newer]) await waitFor(async () => codeOf(await one.ask('doc:join', { guid })) === 'ok')
})

test('a restore takes a revoke back, with a time and without', async (t) => {
  const [uid, guid] = [fresh('cid'), fresh('doc')]
  const client = await member(t, uid, [guid])
  for (const ttl of [undefined, '600']) {
    await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid, ...(ttl && { 'x-ttl': ttl }) })
    assert.equal(codeOf(await client.ask('doc:join', { guid })), 'forbidden')
    assert.equal((await order('POST', `/v1/documents/${guid}/restore`, { 'x-uid': uid })).status, 202)
    assert.equal(codeOf(await client.ask('doc:join', { guid })), 'ok')
    const other = await member(t, uid, [guid])
    other.disconnect()
  }
})

test('a kick with a time refuses the user at the handshake until then, or until a restore', async (t) => {
  const uid = fresh('dan')
  const client = await member(t, uid, [])
  const told = client.next('gateway:disconnect')
  assert.equal((await order('DELETE', `/v1/users/${uid}/connections`, { 'x-ttl': '600' })).connections, 1)
  assert.equal((await told)[0].code, 'kicked')
  for (const transport of ['websocket', 'polling']) {
    const refused = createClient(t, server.url, { auth: { token: await tokenOf(uid, 1) }, transports: [transport] })
    const [error] = await refused.next('connect_error')
    assert.deepEqual(error.data, { code: 'banned', retryable: false })
  }
  assert.equal((await order('POST', `/v1/users/${uid}/restore`)).status, 202)
  await member(t, uid, [])
  stand(t)
  await order('DELETE', `/v1/users/${uid}/connections`, { 'x-ttl': '1' })
  ahead += 900
  await assert.rejects(member(t, uid, []))
  ahead += 200 // the worker knows Redis' time but for the duration of a request, until it renews its lease
  await waitFor(() => member(t, uid, []))
})

test('to close a document makes everyone leave it, with a code and a reason; it may be opened again', async (t) => {
  const guid = fresh('doc')
  const clients = [await member(t, fresh('eve'), [guid]), await member(t, fresh('flo'), [guid])]
  const other = await member(t, fresh('gus'), [])
  const told = clients.map((client) => client.next('doc:closed'))
  assert.deepEqual(await order('DELETE', `/v1/documents/${guid}/connections?code=moved&reason=It%20is%20elsewhere`), {
    status: 202, ok: true, connections: 2, workers: 1
  })
  for (const [payload] of await Promise.all(told))
    assert.deepEqual(payload, { guid, code: 'moved', reason: 'It is elsewhere' })
  assert.deepEqual(other.received, [])
  assert.equal(codeOf(await clients[0].ask('doc:signal', { guid, event: 'cursor', data: 1 })), 'not_joined')
  assert.equal(codeOf(await clients[0].ask('doc:join', { guid })), 'ok')
  const again = clients[0].next('doc:closed')
  await order('DELETE', `/v1/documents/${guid}/connections`)
  assert.deepEqual(await again, [{ guid, code: 'closed' }])
})

test('a service opens a document on the connections of a user, and closes it', async (t) => {
  const [uid, guid, shut] = [fresh('hal'), fresh('doc'), fresh('doc')]
  const clients = [await member(t, uid, []), await member(t, uid, [guid])]
  const joined = clients[0].next('doc:joined')
  assert.equal((await order('POST', `/v1/users/${uid}/documents/${guid}`)).connections, 2)
  assert.equal((await joined)[0].guid, guid)
  const edits = clients.map((client) => client.next('edit'))
  await server.post(`/v1/documents/${guid}/broadcast`, { a: 1 }, { 'x-event': 'edit' })
  await Promise.all(edits)
  const closed = clients.map((client) => client.next('doc:closed'))
  assert.equal((await order('DELETE', `/v1/users/${uid}/documents/${guid}?code=done`)).connections, 2)
  for (const [payload] of await Promise.all(closed)) assert.deepEqual(payload, { guid, code: 'done' })
  // the rights of the user count
  await order('POST', `/v1/documents/${shut}/revoke`, { 'x-uid': uid })
  assert.equal((await order('POST', `/v1/users/${uid}/documents/${shut}`)).connections, 0)
})

test('what is queued for a polling client when a document is revoked is not sent any more', async () => {
  const [uid, guid, other] = [fresh('ida'), fresh('doc'), fresh('doc')]
  const polling = await rawPolling(server.url)
  await polling.connect({ token: await tokenOf(uid) })
  for (const [id, joined] of [guid, other].entries()) {
    await polling.post(`42${id}["doc:join",${JSON.stringify({ guid: joined, members: true })}]`)
    assert.ok(await polling.until(new RegExp(`43${id}\\[`)))
  }
  for (const [i, to] of [guid, other, guid, guid, other].entries())
    await server.post(`/v1/documents/${to}/broadcast`, { record: i }, { 'x-event': 'edit' })
  await polling.post(`427["doc:history",${JSON.stringify({ guid })}]`)
  await polling.post(`428["doc:history",${JSON.stringify({ guid: other })}]`)
  assert.equal((await order('POST', `/v1/documents/${guid}/revoke`, { 'x-uid': uid })).connections, 1)
  let text = ''
  while (!text.includes('doc:revoked')) text += (await polling.poll()).text
  assert.deepEqual([...text.matchAll(/42\["edit",\{"record":(\d)/g)].map(([, record]) => record), ['1', '4'])
  assert.match(text, /438\[\{"ok":true/)
  assert.match(text, /437\[\{"ok":false,"error":\{"code":"not_joined"/)
  assert.ok(!text.includes(`"guid":"${guid}"`.concat(',"offset"')), text)
})
