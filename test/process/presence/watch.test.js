import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET, PRESENCE_GRACE: '60000' })
const { url } = server

/** @param {import('node:test').TestContext} t @param {string} uid @param {object} [auth] */
const connectAs = async (t, uid, auth) =>
  connectClient(t, url, { auth: { token: await signToken({ sub: uid, name: uid }), ...auth } })

/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const changes = ({ received }) => received.filter(({ event }) => event === 'doc:presence').map(({ payload }) => payload)
/** @param {{ members: { uid: string }[] }} answer */
const uids = ({ members }) => members.map(({ uid }) => uid).sort()

describe('a connection that watches the presence', () => {
  test('gets the list and its changes, and appears in no list, count or change', async (t) => {
    const guid = 'seen'
    const ada = await connectAs(t, 'ada')
    await ada.ask('doc:join', { guid, state: { color: 'red' } })
    const watcher = await connectAs(t, 'eve')
    const answer = await watcher.ask('doc:join', { guid, members: 'watch' })
    assert.deepEqual([uids(answer), answer.count, answer.members[0].state], [['ada'], 1, { color: 'red' }])
    const other = createClient(t, url, {
      auth: { token: await signToken({ sub: 'max' }), documents: { [guid]: { members: 'watch' } } }
    })
    const [joined] = await other.next('doc:joined')
    assert.deepEqual([uids(joined), joined.count], [['ada'], 1])
    const bob = await connectAs(t, 'bob')
    assert.deepEqual(uids(await bob.ask('doc:join', { guid, members: true })), ['ada', 'bob'])
    for (const client of [watcher, other]) {
      // the change by which ada came may be on its way still, although the list has her
      const ofBob = () => changes(client).find(({ joined: come }) => uids({ members: come }).includes('bob'))
      const { count } = await waitFor(ofBob, { message: () => changes(client) })
      assert.equal(count, 2)
    }
    // as after a loss of the lease: all members are written again
    server.gateway.presence.renew()
    await ada.ask('doc:state', { guid, state: { color: 'blue' } })
    await waitFor(() => changes(watcher).at(-1)?.changed[0]?.state.color === 'blue')
    assert.deepEqual(uids(await bob.ask('doc:members', { guid })), ['ada', 'bob'])
    watcher.disconnect()
    await other.ask('doc:leave', { guid })
    await bob.ask('doc:leave', { guid })
    await waitFor(() => changes(ada).at(-1)?.count === 1)
    const told = changes(ada).flatMap(({ joined: come, left }) =>
      [...come.map((/** @type {any} */ { uid }) => uid), ...left])
    assert.deepEqual(told.filter((id) => id !== 'ada'), ['bob', bob.id])
    assert.deepEqual(uids(await ada.ask('doc:members', { guid })), ['ada'])
  })

  test('is a member from its first state on, or when it asks to be one; a member stays one', async (t) => {
    const guid = 'later'
    const ada = await connectAs(t, 'ada')
    await ada.ask('doc:join', { guid, members: 'watch' })
    assert.equal((await ada.ask('doc:join', { guid, members: 'watch' })).count, 0)
    const bob = await connectAs(t, 'bob')
    await bob.ask('doc:join', { guid, members: 'watch' })
    assert.equal((await ada.ask('doc:state', { guid, state: { at: 1 } })).ok, true)
    await waitFor(() => changes(bob).at(-1)?.count === 1)
    assert.deepEqual(changes(bob).at(-1).joined.map((/** @type {any} */ { uid, state }) => [uid, state]), [['ada', { at: 1 }]])
    assert.deepEqual(uids(await bob.ask('doc:join', { guid, members: true })), ['ada', 'bob'])
    assert.deepEqual(uids(await bob.ask('doc:join', { guid, members: 'watch' })), ['ada', 'bob'])
    await ada.ask('doc:leave', { guid })
    await bob.ask('doc:leave', { guid })
    await waitFor(async () => {
      const { values: [{ value }] } = await server.metrics.presence_documents.get()
      return value === 0
    }, { message: 'rooms without anyone to be closed' })
  })

  test('another value is refused', async (t) => {
    const client = await connectAs(t, 'ada')
    for (const members of ['true', 1, null, {}, 'look']) {
      const { error } = await client.ask('doc:join', { guid: 'wrong', members })
      assert.deepEqual([error.code, error.message], ['bad_request', 'members: must be true, false or "watch"'])
    }
  })

  test('in inkcast-client it opens with `presence: "watch"`, also after a reconnect, until it sets a state', async (t) => {
    const open = async (/** @type {string} */ uid, /** @type {any} */ options) => {
      const client = startClient(t, url, { token: await signToken({ sub: uid }) })
      return { client, doc: await client.open('page', options) }
    }
    const ada = await open('ada', { state: { at: 0 } })
    const eve = await open('eve', { presence: 'watch' })
    await waitFor(() => eve.doc.presence.count === 1)
    assert.deepEqual([[...eve.doc.presence.keys()], ada.doc.presence.count], [['ada'], 1])
    eve.client.drop(0)
    await eve.client.reaches('reconnecting')
    await eve.client.reaches('connected')
    await eve.doc.ready
    await ada.doc.setState({ at: 1 })
    await waitFor(() => eve.doc.presence.get('ada')?.state?.at === 1)
    assert.deepEqual([...ada.doc.presence.keys()], ['ada'])
    await eve.doc.setState({ here: true })
    await waitFor(() => ada.doc.presence.count === 2)
    // a further part of a page that watches changes nothing, one that is listed does
    const max = await open('max', { presence: 'watch' })
    await max.client.open('page', { presence: 'watch' })
    await max.client.open('page', { presence: true })
    await waitFor(() => ada.doc.presence.count === 3)
  })
})
