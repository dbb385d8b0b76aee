import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { PER_USER } from './world.js'

/** Logins, rights and their end. @param {import('./world.js').World} world @param {import('./world.js').Door} door */
export function rightsContract ({ connect, refusal, request, publish, toEveryone, inkcast }, door) {
  test('a client without a valid token is refused, and so is one connection too many, with the reason', async (t) => {
    assert.match(await refusal(t, door, { token: undefined }), door.told('unauthorized'))
    assert.match(await refusal(t, door, { token: 'no token' }), door.told('unauthorized'))
    assert.match(await refusal(t, door, {}, 'late', { exp: 1 }), door.told('token_expired'))
    const uid = randomUUID()
    for (let i = 0; i < PER_USER; i++) await connect(t, door, {}, uid)
    assert.match(await refusal(t, door, {}, uid), door.told('too_many_connections'))
  })

  test('the token says which documents a client may read and write', { skip: door.cannot.refusals }, async (t) => {
    const [read, written, none] = [randomUUID(), randomUUID(), randomUUID()]
    const documents = [{ guid: read, access: 'read' }, { guid: written, access: 'write' }]
    const client = await connect(t, door, {}, randomUUID(), { documents })
    for (const guid of [read, written]) assert.equal((await client.join(guid)).ok, true)
    assert.equal((await client.send(written, 1)).ok, true)
    for (const asked of [client.join(none), client.send(read, 1), client.signal(read, 'cursor', 1)])
      assert.match((await asked).error.code, door.told('forbidden'))
  })

  test('a later token replaces the one of the login', { skip: door.cannot.refresh }, async (t) => {
    const uid = randomUUID()
    const [read, written, none] = [randomUUID(), randomUUID(), randomUUID()]
    const documents = [{ guid: read, access: 'read' }, { guid: written, access: 'write' }]
    const client = await connect(t, door, {}, uid, { documents })
    assert.equal((await client.join(read)).access, 'read')
    assert.equal((await client.join(written)).ok, true)
    assert.equal((await client.join(none)).error.code, 'forbidden')
    const token = await signToken({ sub: uid, documents: documents.slice(0, 1), exp: 4e9 })
    assert.deepEqual(await client.ask('auth:refresh', { token }), { ok: true, expiresAt: 4e12 })
    assert.equal((await client.event('doc:revoked')).payload.guid, written)
    assert.equal((await client.send(written, 1)).error.code, 'not_joined')
    const other = await signToken({ sub: 'another user' })
    assert.equal((await client.ask('auth:refresh', { token: other })).error.code, 'forbidden')
  })

  test('after a revoke nothing more of the document arrives, and an older token does not open it again until a restore', async (t) => {
    const guid = randomUUID()
    const uid = randomUUID()
    const client = await connect(t, door, {}, uid, { iat: 1 })
    await client.join(guid)
    assert.equal((await inkcast.post(`/v1/documents/${guid}/revoke`, { uid })).body.connections, 1)
    await publish(guid, 'secret')
    await toEveryone([client])
    assert.deepEqual((await client.event('doc:revoked')).payload, { guid })
    assert.deepEqual(client.records(guid), [])
    assert.equal((await client.join(guid)).ok, false)
    await inkcast.post(`/v1/documents/${guid}/restore`, { uid })
    assert.equal((await client.join(guid)).ok, true)
    await publish(guid, 'for all')
    await waitFor(() => client.records(guid).length > 0)
    assert.deepEqual(client.records(guid).map(({ payload }) => payload), ['for all'])
  })

  test('after a revoke requests are refused, after a restore a client resumes', { skip: door.cannot.positions }, async (t) => {
    const guid = randomUUID()
    const uid = randomUUID()
    const client = await connect(t, door, {}, uid, { iat: 1 })
    const { position } = await client.join(guid)
    await inkcast.post(`/v1/documents/${guid}/revoke`, { uid })
    await publish(guid, 'secret')
    for (const asked of [client.join(guid, { position }), client.history(guid), client.send(guid, 1)])
      assert.match((await asked).error.code, /^(?:forbidden|not_joined)$/)
    await inkcast.post(`/v1/documents/${guid}/restore`, { uid })
    assert.equal((await client.join(guid, { position })).ok, true)
    assert.deepEqual(client.records(guid).map(({ payload }) => payload), ['secret'])
  })

  test('a service opens and closes a document on a connection, and finds it among the sessions of the user', async (t) => {
    const guid = randomUUID()
    const uid = randomUUID()
    const client = await connect(t, door, {}, uid)
    assert.equal(await request('POST', `/v1/users/${uid}/documents/${guid}`), 202)
    assert.equal((await client.event('doc:joined')).payload.guid, guid)
    await publish(guid, 'opened')
    await waitFor(() => client.records(guid).length === 1, { message: () => client.received })
    const sessions = await waitFor(async () => {
      const answer = /** @type {any} */ (await (await fetch(`${inkcast.apiUrl}/v1/users/${uid}/sessions`)).json())
      return answer.sessions[0]?.documents.length > 0 && answer.sessions
    })
    assert.deepEqual(sessions.map((/** @type {any} */ { sid, documents }) => [sid, documents]), [[client.id, [guid]]])
    assert.equal(await request('DELETE', `/v1/documents/${guid}/connections?code=archived`), 202)
    assert.equal((await client.event('doc:closed')).payload.code, 'archived')
    await publish(guid, 'closed')
    await toEveryone([client])
    assert.equal(client.records(guid).length, 1)
  })

  test('a client sends to documents that it has open only', { skip: door.cannot.sendsOnlyToOpen }, async (t) => {
    const client = await connect(t, door)
    for (const asked of [client.send(randomUUID(), 1), client.leave(randomUUID())])
      assert.equal((await asked).error.code, 'not_joined')
  })

  test('a kicked client gets the reason', { skip: door.cannot.refusals }, async (t) => {
    const client = await connect(t, door)
    assert.equal(await request('DELETE', `/v1/sockets/${client.id}`), 202)
    const { payload } = await client.event('gateway:disconnect')
    assert.match(payload.code, door.told('kicked'))
    assert.equal(payload.retryable, false)
  })

  test('the connection of a kicked client ends; a banned one is refused until it is restored', async (t) => {
    const uid = randomUUID()
    const client = await connect(t, door, {}, uid)
    assert.equal(await request('DELETE', `/v1/sockets/${client.id}`), 202)
    await client.ended
    const again = await connect(t, door, {}, uid)
    const banned = await fetch(`${inkcast.apiUrl}/v1/users/${uid}/connections`, { method: 'DELETE', headers: { 'x-ttl': '60' } })
    assert.equal(banned.status, 202)
    await again.ended
    assert.match(await refusal(t, door, {}, uid), door.told('banned'))
    assert.equal(await request('POST', `/v1/users/${uid}/restore`), 202)
    await connect(t, door, {}, uid)
  })
}
