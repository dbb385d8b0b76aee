import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET, HISTORY_SIZE: '50' })

/** Time without a connection, ms: longer than the test. */
const AWAY = 60_000

/** @param {string} uid @param {unknown} value @param {string} [event] */
const notify = (uid, value, event = 'note') =>
  server.post(`/v1/users/${uid}/send`, value, { 'x-keep': 'true', 'x-event': event })

/**
 * A client that writes down its notifications.
 * @param {import('node:test').TestContext} t
 * @param {string} uid
 * @param {import('inkcast/client').ClientOptions & { late?: boolean }} [options] late: `client.user` is used once the
 *   client is connected
 */
async function reader (t, uid, { late = false, ...options } = {}) {
  const token = await signToken({ sub: uid })
  const client = startClient(t, server.url, { token, ...options })
  if (late) await client.reaches('connected')
  /** @type {any[]} */
  const seen = []
  const { user } = client
  user.on('note', (payload, meta) => { seen.push([payload, meta.user?.offset]) })
  user.on('record:open', (payload) => { seen.push(payload) })
  user.on('resync', ({ reason }) => { seen.push(reason) })
  /** @type {boolean[]} */
  const opened = []
  user.on('open', ({ recovered }) => { opened.push(recovered) })
  await waitFor(() => opened.length === 1, { message: 'open' })
  return { client, user, seen, opened }
}

/** Values that can be put into `storage`. */
function memoryStorage () {
  const items = new Map()
  return {
    getItem: (/** @type {string} */ key) => items.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => { items.set(key, value) },
    removeItem: (/** @type {string} */ key) => { items.delete(key) }
  }
}

describe('client.user', () => {
  for (const late of [false, true])
    test(`gets kept records over a reconnect, once and in order${late ? ', also if it is used late' : ''}`, async (t) => {
      const uid = `anna-${late}`
      const { client, user, seen, opened } = await reader(t, uid, { late })
      /** @type {unknown[]} */
      const others = []
      client.on('note', (payload) => { others.push(payload) })
      await notify(uid, 'one')
      await waitFor(() => seen.length === 1)
      client.drop(AWAY)
      await client.reaches('reconnecting')
      await notify(uid, 'two')
      await notify(uid, 'three', 'open')
      client.connect()
      await client.reaches('connected')
      await waitFor(() => opened.length === 2)
      assert.deepEqual(seen, [['one', 1], ['two', 2], 'three'])
      assert.deepEqual(opened, [false, true])
      assert.equal(user.position?.offset, 3)
      await server.post(`/v1/users/${uid}/send`, 'not kept', { 'x-event': 'note' })
      await waitFor(() => others.length === 1)
      assert.deepEqual(others, ['not kept'])
    })

  test('continues from the stored position, or from the one that is assigned', async (t) => {
    const storage = memoryStorage()
    const first = await reader(t, 'berta', { storage })
    await notify('berta', 'one')
    await waitFor(() => first.seen.length === 1)
    const { position } = first.user
    first.client.close()
    await notify('berta', 'two')
    const second = await reader(t, 'berta', { storage })
    assert.deepEqual(second.seen, [['two', 2]])

    const third = startClient(t, server.url, { token: await signToken({ sub: 'berta' }) })
    third.user.position = position
    const note = await new Promise((resolve) => third.user.on('note', resolve))
    assert.equal(note, 'two')
  })

  test('hears that records are missing', async (t) => {
    const { client, seen, user } = await reader(t, 'cora')
    client.drop(AWAY)
    await client.reaches('reconnecting')
    for (let i = 1; i <= 60; i++) await notify('cora', i)
    client.connect()
    await client.reaches('connected')
    await waitFor(() => user.position?.offset === 60)
    assert.equal(seen[0], 'trimmed')
  })
})
