import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXAMPLES } from '../../../src/services/api/operations/examples.js'
import { operations } from '../../../src/services/api/operations/index.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {unknown} value @returns {unknown} names and types; of a list, of all entries together */
function shapeOf (value) {
  if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(shapeOf(one))))].sort()
  if (value === null || typeof value !== 'object') return typeof value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, shapeOf(v)]))
}

test('each operation has an example, whose answer is like the real one', async (t) => {
  assert.deepEqual(Object.keys(EXAMPLES).sort(), operations.map(({ operation }) => operation).sort())
  const inkcast = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET })
  const get = async (/** @type {string} */ path) => (await fetch(inkcast.apiUrl + path)).json()
  // its first report is of the time before it was ready
  await waitFor(async () => (await get('/v1/overview')).processes?.[0].notReady.length === 0)
  for (const { method, path, operation } of operations) {
    const { ids = {}, query = {}, body, answer } = EXAMPLES[operation]
    // each has a user and a document of its own: some operations end connections
    const [uid, guid] = [`ada-${operation}`, `minutes-${operation}`]
    const token = await signToken({ sub: uid, name: 'Ada', exp: Date.now() / 1000 + 600, docs: { '*': 'w' } })
    const client = await connectClient(t, inkcast.url, { auth: { token, client: 'tab-7' } })
    await client.ask('doc:join', { guid, members: true, state: { cursor: 7 } })
    await inkcast.post(`/v1/documents/${guid}/broadcast`, { text: 'hello' }, { 'x-event': 'edit' })
    await inkcast.post(`/v1/users/${uid}/send`, { text: 'hello' }, { 'x-event': 'edit', 'x-keep': 'true' })
    const sid = /** @type {string} */ (client.id)
    await waitFor(async () => (await get(`/v1/sockets/${sid}`)).session?.documents.length === 1)
    const own = { guid, uid, sid, device: 'tab-7' }
    const url = new URL(path.replace(/:(\w+)/g, (_, name) => {
      assert.ok(ids[name], `${operation} has no example of ${name}`)
      return own[/** @type {'guid'} */ (name)]
    }), inkcast.apiUrl)
    // the position of an example is of another log
    for (const [name, value] of Object.entries(query))
      if (!['epoch', 'offset'].includes(name)) url.searchParams.set(name, name === 'uid' ? uid : String(value))
    const { position } = await get(`/v1/documents/${guid}/position`)
    const sent = operation === 'cut' ? position : body
    const named = JSON.stringify(sent)?.replaceAll('"ada"', `"${uid}"`).replaceAll('"minutes"', `"${guid}"`)
    const real = await fetch(url, {
      method, body: named, headers: named === undefined ? {} : { 'content-type': 'application/json' }
    })
    const got = await real.json()
    assert.ok(real.ok, `${operation}: ${real.status} ${JSON.stringify(got)}`)
    assert.deepEqual(shapeOf(got), shapeOf(answer), `${operation}: ${JSON.stringify(got)}`)
    client.disconnect()
  }
})
