import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startClient } from '../../helpers/inkcast-client.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const { url } = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET, PRESENCE_GRACE: '60000' })

/** @param {import('node:test').TestContext} t @param {string} uid */
const clientOf = async (t, uid) =>
  startClient(t, url, { token: await signToken({ sub: uid, name: uid.toUpperCase() }) })

/** @param {import('inkcast/client').Document} doc @param {Record<string, unknown>} states by user */
const shows = (doc, states) => waitFor(() => {
  const seen = Object.fromEntries([...doc.presence].map(([uid, { state }]) => [uid, state ?? null]))
  return assert.deepEqual(Object.fromEntries(Object.entries(seen).sort()), states) ?? true
}, { timeout: 10_000 })

describe('presence', () => {
  test('is the same for all participants, through changes, reconnects and leaves', async (t) => {
    const [ada, bob, cy] = await Promise.all(['ada', 'bob', 'cy'].map((uid) => clientOf(t, uid)))
    const docOfAda = await ada.open('minutes', { state: { line: 1 } })
    const docOfBob = await bob.open('minutes', { state: { line: 2 } })
    const docOfCy = await cy.open('minutes')
    /** @type {string[]} */
    const told = []
    docOfAda.on('presence', ({ joined, left, changed }) => {
      told.push(
        ...joined.map(({ uid }) => `+${uid}`),
        ...left.map(({ uid }) => `-${uid}`),
        ...changed.map(({ uid }) => `=${uid}`)
      )
    })
    for (const doc of [docOfAda, docOfBob]) await shows(doc, { ada: { line: 1 }, bob: { line: 2 } })
    assert.equal(docOfAda.presence.get('bob')?.name, 'BOB')
    assert.equal(docOfCy.presence.size, 0)

    await docOfBob.setState({ line: 3 })
    await docOfCy.setState({ line: 4 })
    const all = { ada: { line: 1 }, bob: { line: 3 }, cy: { line: 4 } }
    for (const doc of [docOfAda, docOfBob, docOfCy]) await shows(doc, all)

    told.length = 0
    bob.drop(0)
    await waitFor(() => bob.state === 'reconnecting' || bob.states.length > 1)
    await bob.reaches('connected')
    for (const doc of [docOfAda, docOfBob, docOfCy]) await shows(doc, all)
    assert.deepEqual(told.filter((change) => change === '-bob'), [], 'a reconnecting user has not left')

    docOfCy.close()
    bob.close()
    await shows(docOfAda, { ada: { line: 1 } })
    assert.equal(docOfAda.presence.count, 1)
  })

  test('has a user with two tabs once, until the last tab is closed', async (t) => {
    const [one, two, other] = await Promise.all(['ada', 'ada', 'bob'].map((uid) => clientOf(t, uid)))
    const watching = await other.open('tabs', { presence: true })
    const first = await one.open('tabs', { state: { tab: 1 } })
    const second = await two.open('tabs', { state: { tab: 2 } })
    await waitFor(() => watching.presence.get('ada')?.connections?.length === 2)
    assert.equal(watching.presence.count, 2)
    second.close()
    await shows(watching, { ada: { tab: 1 }, bob: null })
    first.close()
    await shows(watching, { bob: null })
  })

  test('with more members than fit into one response is complete', async (t) => {
    const clients = await Promise.all(Array.from({ length: 130 }, (_, i) => clientOf(t, `user-${i}`)))
    const docs = await Promise.all(clients.map((client) => client.open('crowd', { state: {} })))
    await waitFor(() => docs.every(({ presence }) => presence.size === 130), {
      timeout: 20_000,
      message: () => docs.map(({ presence }) => presence.size)
    })
    const late = await (await clientOf(t, 'late')).open('crowd', { presence: true })
    await waitFor(() => late.presence.size === 131, { timeout: 10_000 })
  })
})
