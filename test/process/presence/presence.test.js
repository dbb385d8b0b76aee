import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/** @typedef {Awaited<ReturnType<typeof connectClient>>} Client */

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [env]
 */
async function setUp (t, env = {}) {
  const server = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET, PRESENCE_GRACE: '60000', ...env })
  return {
    server,
    /** @param {string} uid @param {{ codec?: 'json' | 'msgpack', auth?: object }} [options] */
    async client (uid, { codec, auth } = {}) {
      return connectClient(t, server.url, {
        codec,
        auth: { token: await signToken({ sub: uid, name: `name of ${uid}` }), ...auth }
      })
    }
  }
}

/**
 * A client's view of a document, by the rules of docs/protocol-details.md. @param {Client} client @param {string}
 * [guid]
 */
function follow (client, guid = 'doc') {
  /** @type {Map<string, any>} */
  const members = new Map()
  const view = {
    members, version: 0, count: 0, gaps: 0,
    /** @type {any[]} */
    diffs: [],
    /** @param {any} answer */
    begin (answer) {
      members.clear()
      for (const member of answer.members) members.set(member.uid, member)
      Object.assign(view, { version: answer.version, count: answer.count })
    },
    get uids () { return [...members.keys()].sort() }
  }
  client.on('doc:presence', (diff) => {
    if (diff.guid !== guid) return
    view.diffs.push(diff)
    if (diff.members) return view.begin(diff)
    if (diff.version <= view.version) return
    if (diff.from > view.version) view.gaps++
    const left = new Set(diff.left)
    for (const [uid, member] of members) {
      const ids = (member.connections ?? [member]).map((/** @type {any} */ { id }) => id)
      if (ids.every((/** @type {string} */ id) => left.has(id))) members.delete(uid)
    }
    for (const member of [...diff.joined, ...diff.changed]) members.set(member.uid, member)
    Object.assign(view, { version: diff.version, count: diff.count })
  })
  return view
}

/** @param {ReturnType<typeof follow>} view @param {string[]} uids */
const sees = (view, ...uids) =>
  waitFor(() => view.uids.join() === uids.join() && view.count === uids.length, {
    message: () => `${uids}: ${view.uids}, ${view.count}`
  })

describe('presence', () => {
  test('a new member gets the list, and members get the new one, with name and state, in both codecs', async (t) => {
    const { client } = await setUp(t)
    const ada = await client('ada')
    const seen = follow(ada)
    const first = await ada.ask('doc:join', { guid: 'doc', state: { color: 'red' } })
    assert.deepEqual(first.members, [{ uid: 'ada', id: ada.id, name: 'name of ada', state: { color: 'red' } }])
    assert.equal(first.count, 1)
    seen.begin(first)
    const bob = await client('bob', { codec: 'msgpack' })
    const second = await bob.ask('doc:join', { guid: 'doc', state: { cursor: { row: 1 } } })
    assert.deepEqual(second.members.map((/** @type {any} */ { uid }) => uid), ['ada', 'bob'])
    const bobSees = follow(bob)
    bobSees.begin(second)
    await sees(seen, 'ada', 'bob')
    assert.deepEqual(seen.members.get('bob'), {
      uid: 'bob',
      id: bob.id,
      name: 'name of bob',
      state: { cursor: { row: 1 } }
    })
    assert.deepEqual(await ada.ask('doc:state', { guid: 'doc', state: { color: 'blue' } }), { ok: true, guid: 'doc' })
    await waitFor(() => bobSees.members.get('ada').state.color === 'blue')
    assert.deepEqual(seen.gaps + bobSees.gaps, 0)
    assert.deepEqual((await bob.ask('doc:members', { guid: 'doc' })).members, [
      seen.members.get('ada'),
      seen.members.get('bob')
    ])
  })

  test('a member that leaves or disconnects is removed at once; a lost connection, after the grace', async (t) => {
    const { client } = await setUp(t, { PRESENCE_GRACE: '300' })
    const ada = await client('ada')
    const seen = follow(ada)
    seen.begin(await ada.ask('doc:join', { guid: 'doc', members: true }))
    const others = [await client('bob'), await client('cyd'), await client('dan')]
    for (const other of others) await other.ask('doc:join', { guid: 'doc', state: {} })
    await sees(seen, 'ada', 'bob', 'cyd', 'dan')
    const ids = others.map(({ id }) => id)
    await others[0].ask('doc:leave', { guid: 'doc' })
    await sees(seen, 'ada', 'cyd', 'dan')
    others[1].disconnect()
    await sees(seen, 'ada', 'dan')
    others[2].io.engine.close()
    await sees(seen, 'ada')
    assert.deepEqual(seen.diffs.flatMap(({ left }) => left), ids)
  })

  test('a reconnect within the grace causes neither a leave nor a join', async (t) => {
    const { server, client } = await setUp(t)
    const ada = await client('ada')
    const seen = follow(ada)
    seen.begin(await ada.ask('doc:join', { guid: 'doc', members: true }))
    const token = await signToken({ sub: 'bob' })
    const bob = createClient(t, server.url, {
      reconnection: true,
      auth: { token, client: 'tab', documents: { doc: { state: { n: 1 } } } }
    })
    const [answer] = await bob.next('doc:joined')
    assert.deepEqual(answer.members.map((/** @type {any} */ { uid }) => uid), ['ada', 'bob'])
    await sees(seen, 'ada', 'bob')
    const { id } = bob
    seen.diffs.length = 0
    bob.io.engine.close()
    await bob.next('doc:joined')
    assert.notEqual(bob.id, id)
    await waitFor(() => seen.members.get('bob').id === bob.id, { message: 'the new connection' })
    assert.deepEqual(seen.members.get('bob'), { uid: 'bob', id: bob.id, state: { n: 1 } })
    assert.deepEqual(
      seen.diffs.map(({ joined, left }) => [joined.length, left.length]),
      seen.diffs.map(() => [0, 0])
    )
  })

  test('two tabs of a user are one member with two connections', async (t) => {
    const { client } = await setUp(t)
    const ada = await client('ada')
    const seen = follow(ada)
    seen.begin(await ada.ask('doc:join', { guid: 'doc', members: true }))
    const first = await client('bob')
    await first.ask('doc:join', { guid: 'doc', state: { tab: 1 } })
    await sees(seen, 'ada', 'bob')
    const second = await client('bob')
    const answer = await second.ask('doc:join', { guid: 'doc', state: { tab: 2 } })
    assert.equal(answer.count, 2)
    await waitFor(() => seen.members.get('bob').connections)
    assert.deepEqual(seen.members.get('bob'), {
      uid: 'bob', id: second.id, name: 'name of bob', state: { tab: 2 },
      connections: [{ id: first.id, state: { tab: 1 } }, { id: second.id, state: { tab: 2 } }]
    })
    second.disconnect()
    await waitFor(() => seen.members.get('bob').id === first.id)
    await sees(seen, 'ada', 'bob')
    first.disconnect()
    await sees(seen, 'ada')
    assert.deepEqual(
      seen.diffs.flatMap(({ joined }) => joined).map(({ uid }) => uid)
        .filter((uid) => uid === 'bob').length,
      1
    )
  })

  test('a connection that does not participate is not listed or notified, but may request the list; a state changes it', async (t) => {
    const { client } = await setUp(t)
    const plain = await client('plain')
    const answer = await plain.ask('doc:join', { guid: 'doc' })
    assert.deepEqual(Object.keys(answer).sort(), ['guid', 'ok', 'position', 'recovered'])
    const ada = await client('ada')
    const seen = follow(ada)
    seen.begin(await ada.ask('doc:join', { guid: 'doc', state: {} }))
    await waitFor(async () => (await plain.ask('doc:members', { guid: 'doc' })).count === 1)
    assert.equal(plain.received.filter(({ event }) => event === 'doc:presence').length, 0)
    assert.deepEqual(seen.uids, ['ada'])
    const second = await plain.ask('doc:state', { guid: 'doc', state: { here: true } })
    assert.deepEqual(second.members.map((/** @type {any} */ { uid }) => uid), ['ada', 'plain'])
    await sees(seen, 'ada', 'plain')
  })

  test('a client that leaves directly after participating gets no list', async (t) => {
    const { client } = await setUp(t)
    await (await client('ada')).ask('doc:join', { guid: 'doc', state: {} })
    const bob = await client('bob')
    for (const [event, state] of [['doc:state', { here: true }], ['doc:join', { here: true }]]) {
      if (event === 'doc:state') await bob.ask('doc:join', { guid: 'doc' })
      const [answer, left] = await Promise.all([
        bob.ask(/** @type {string} */ (event), { guid: 'doc', state }),
        bob.ask('doc:leave', { guid: 'doc' })
      ])
      assert.deepEqual([answer.error?.code, left.ok], ['not_joined', true], String(event))
    }
  })

  test('a state that is too large, not JSON, or for a document that is not open is refused with its code', async (t) => {
    const { client, server } = await setUp(t, { PRESENCE_MAX_STATE_BYTES: '100' })
    const ada = await client('ada', { codec: 'msgpack' })
    const codeOf = async (/** @type {string} */ event, /** @type {object} */ argument) =>
      (await ada.ask(event, argument)).error?.code
    assert.equal(await codeOf('doc:members', { guid: 'doc' }), 'not_joined')
    assert.equal(await codeOf('doc:state', { guid: 'doc', state: {} }), 'not_joined')
    assert.equal(await codeOf('doc:join', { guid: 'doc', state: { text: 'x'.repeat(100) } }), 'state_too_large')
    assert.equal(await codeOf('doc:leave', { guid: 'doc' }), 'not_joined')
    assert.equal(await codeOf('doc:join', { guid: 'doc', state: { text: 'x' } }), undefined)
    assert.equal(await codeOf('doc:state', { guid: 'doc', state: { text: 'x'.repeat(100) } }), 'state_too_large')
    assert.equal(await codeOf('doc:state', { guid: 'doc', state: { bytes: Buffer.from('x') } }), 'bad_request')
    assert.equal(await codeOf('doc:state', { guid: 'doc', state: 'text' }), 'bad_request')
    const documents = { large: { state: { text: 'x'.repeat(100) } }, binary: { state: { bytes: Buffer.from('x') } } }
    const opening = await client('opening', { codec: 'msgpack', auth: { documents } })
    const codes = () =>
      opening.received.filter(({ event }) => event === 'doc:refused')
        .map(({ payload }) => `${payload.guid} ${payload.error.code}`)
    await waitFor(() => codes().sort().join() === 'binary bad_request,large state_too_large', { message: codes })
    const raw = await rawWebSocket(t, server.url)
    await raw.connect({ token: await signToken({ sub: 'raw' }) })
    const join = (/** @type {number} */ id, /** @type {number} */ levels) =>
      raw.send(`42${id}["doc:join",{"guid":"doc","state":{"deep":${'['.repeat(levels)}${']'.repeat(levels)}}}]`)
    join(1, 5000)
    assert.match(await raw.text(/^431/), /"code":"state_too_large"/)
    join(2, 20_000)
    assert.match(await raw.text(/^432/), /"code":"bad_value"/, 'JSON of this length is refused before it is decoded')
    assert.deepEqual((await ada.ask('doc:members', { guid: 'doc' })).members[0].state, { text: 'x' })
  })

  test('a room above the limit only gets its number, and gets its members again when it has shrunk', async (t) => {
    const { client } = await setUp(t, { PRESENCE_MAX_MEMBERS: '4' })
    const ada = await client('ada')
    const seen = follow(ada)
    seen.begin(await ada.ask('doc:join', { guid: 'doc', state: {} }))
    /** @type {Client[]} */
    const others = []
    for (let i = 0; i < 5; i++) {
      others.push(await client(`user-${i}`))
      await others[i].ask('doc:join', { guid: 'doc', state: { i } })
    }
    await waitFor(() => seen.count === 6 && seen.diffs.at(-1).countOnly)
    const late = await client('late')
    const answer = await late.ask('doc:join', { guid: 'doc', members: true })
    assert.deepEqual([answer.members, answer.countOnly], [[], true])
    await waitFor(() => seen.count === 7)
    for (const other of [late, ...others.slice(0, 3)]) other.disconnect()
    await sees(seen, 'ada', 'user-3', 'user-4')
    assert.ok(seen.diffs.at(-1).members)
  })

  test('members are listed page by page, to clients and over the api', async (t) => {
    const { server, client } = await setUp(t)
    const uids = Array.from({ length: 7 }, (_, i) => `user-${i}`)
    const [ada] = await Promise.all(uids.map(async (uid) => {
      const each = await client(uid)
      await each.ask('doc:join', { guid: 'doc', state: {} })
      return each
    }))
    await waitFor(async () => (await ada.ask('doc:members', { guid: 'doc' })).count === 7)
    /** @type {string[]} */
    const found = []
    /** @type {any} */
    let page = {}
    do {
      page = await ada.ask('doc:members', {
        guid: 'doc',
        limit: 3,
        ...(page.cursor === undefined ? {} : { cursor: page.cursor })
      })
      found.push(...page.members.map((/** @type {any} */ { uid }) => uid))
      assert.equal(page.count, 7)
    } while (page.cursor !== undefined)
    assert.deepEqual(found, uids)
    const ask = async (/** @type {string} */ path) =>
      /** @type {any} */ (await (await fetch(`${server.apiUrl}/v1/documents/${path}`)).json())
    const first = await ask('doc/presence?limit=5')
    assert.deepEqual([first.ok, first.guid, first.count, first.members.length], [true, 'doc', 7, 5])
    const second = await ask(`doc/presence?cursor=${first.cursor}`)
    assert.deepEqual(second.members.map((/** @type {any} */ { uid }) => uid), uids.slice(5))
    assert.deepEqual(await ask('other/presence'), { ok: true, guid: 'other', members: [], count: 0, version: 0 })
  })

  test('a client that does not read gets the list when it reads again', async (t) => {
    const { server, client } = await setUp(t, { MAX_EVENTS_PER_SECOND: '1000' })
    const slow = await rawWebSocket(t, server.url)
    await slow.connect({ token: await signToken({ sub: 'slow' }), documents: { doc: { members: true } } })
    await slow.text(/doc:joined/)
    const ada = await client('ada')
    const seen = follow(ada)
    seen.begin(await ada.ask('doc:join', { guid: 'doc', state: { n: 0 } }))
    slow.ws.pause()
    const dropped = async () => {
      await server.metrics.collect()
      return (await server.metrics.dropped_ephemerals.get()).values[0].value
    }
    let n = 0
    await waitFor(async () => {
      // fill the client's socket, then change the presence
      for (let i = 0; i < 20; i++) await server.post('/v1/documents/doc/broadcast', 'x'.repeat(100_000))
      await ada.ask('doc:state', { guid: 'doc', state: { n: ++n } })
      await waitFor(() => seen.members.get('ada').state.n === n)
      return await dropped() > 0
    }, { timeout: 30_000, message: 'a change that the client does not get' })
    slow.ws.resume()
    await slow.text(new RegExp(`"doc:presence".*"members":.*"n":${n}`))
  })
})
