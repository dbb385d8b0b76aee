import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET, PRESENCE_GRACE: '60000' })
const { url } = server

const tokenOf = (/** @type {string} */ uid) => signToken({ sub: uid, name: uid.toUpperCase() })
/** @param {import('node:test').TestContext} t @param {string} uid */
const connectAs = async (t, uid) => connectClient(t, url, { auth: { token: await tokenOf(uid) } })
/** @param {{ members: any[] }} answer */
const idle = ({ members }) => members.filter((member) => member.idle).map(({ uid }) => uid).sort()

describe('a member that is idle by choice', () => {
  test('is shown to the others with one bit, which a state leaves as it is, until it is back', async (t) => {
    const guid = 'bit'
    const [ada, bob] = await Promise.all(['ada', 'bob'].map((uid) => connectAs(t, uid)))
    await ada.ask('doc:join', { guid, state: { color: 'red' } })
    await bob.ask('doc:join', { guid, members: true })
    const changed = () => ada.received.flatMap(({ event, payload }) => event === 'doc:presence' ? payload.changed : [])
    for (const [input, shown] of /** @type {[object, object][]} */ ([
      [{ idle: true }, { idle: true }],
      [{ state: { at: 1 } }, { state: { at: 1 }, idle: true }],
      [{ idle: false }, { state: { at: 1 } }]
    ])) {
      assert.equal((await bob.ask('doc:state', { guid, ...input })).ok, true)
      await waitFor(() => {
        const { uid, state, idle: isIdle } = changed().at(-1) ?? {}
        const seen = { ...(state && { state }), ...(isIdle && { idle: isIdle }) }
        return uid === 'bob' && assert.deepEqual(seen, shown) === undefined
      })
    }
    assert.deepEqual(idle(await ada.ask('doc:members', { guid })), [])
    await ada.ask('doc:join', { guid, idle: true, members: true })
    assert.deepEqual(idle(await bob.ask('doc:members', { guid })), ['ada'])
  })

  test('with two tabs is idle when both are; the handshake may say so as well', async (t) => {
    const guid = 'tabs'
    const other = await connectAs(t, 'eve')
    await other.ask('doc:join', { guid, members: true })
    const [one, two] = await Promise.all([1, 2].map(async () => createClient(t, url, {
      auth: { token: await tokenOf('ada'), documents: { [guid]: { members: true, idle: true } } }
    })))
    await Promise.all([one, two].map((tab) => tab.next('doc:joined')))
    const members = async () => (await other.ask('doc:members', { guid })).members
      .find((/** @type {any} */ { uid }) => uid === 'ada')
    await waitFor(async () => (await members())?.connections?.length === 2)
    assert.equal((await members()).idle, true)
    await two.ask('doc:state', { guid, idle: false })
    await waitFor(async () => (await members()).idle === undefined)
    const byTab = (await members()).connections.map((/** @type {any} */ tab) => tab.idle ?? false)
    assert.deepEqual(byTab.sort(), [false, true])
  })

  test('stays unseen while it only watches, and needs a part in the presence', async (t) => {
    const guid = 'unseen'
    const [ada, eve] = await Promise.all(['ada', 'eve'].map((uid) => connectAs(t, uid)))
    await ada.ask('doc:join', { guid, members: true })
    await eve.ask('doc:join', { guid })
    assert.equal((await eve.ask('doc:state', { guid, idle: true })).error.code, 'bad_request')
    assert.equal((await eve.ask('doc:state', { guid })).error.code, 'bad_request')
    await eve.ask('doc:join', { guid, members: 'watch' })
    assert.equal((await eve.ask('doc:state', { guid, idle: true })).ok, true)
    assert.deepEqual((await ada.ask('doc:members', { guid })).members.map((/** @type {any} */ { uid }) => uid), ['ada'])
    await eve.ask('doc:leave', { guid })
    assert.deepEqual((await ada.ask('doc:members', { guid, left: true })).left, [])
  })

  test('in inkcast-client is so by setIdle, also after a reconnect; left() has users who left since the first call', async (t) => {
    const [ada, bob] = await Promise.all(['ada', 'bob'].map(async (uid) =>
      startClient(t, url, { token: await tokenOf(uid) })))
    const [docOfAda, docOfBob] = await Promise.all([ada, bob].map((client) => client.open('page', { presence: true })))
    assert.deepEqual(await docOfAda.left(), [])
    await docOfBob.setIdle(true)
    await waitFor(() => docOfAda.presence.get('bob')?.idle === true)
    const id = docOfAda.presence.get('bob')?.id
    bob.drop(0)
    await waitFor(() => docOfAda.presence.get('bob')?.id !== id)
    assert.equal(docOfAda.presence.get('bob')?.idle, true)
    await docOfBob.setIdle(false)
    await waitFor(() => docOfAda.presence.get('bob')?.idle === undefined)
    docOfBob.close()
    await waitFor(() => !docOfAda.presence.has('bob'))
    const [{ lastSeen, ...left }] = await docOfAda.left()
    assert.deepEqual(left, { uid: 'bob', name: 'BOB' })
    assert.ok(Math.abs(Date.now() - lastSeen) < 60_000)
  })
})
