import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
// loaded on demand
import '../../../client/document/begin.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })
const JOINED = { guid: 'doc', position: at(5), recovered: false }
const hang = () => new Promise(() => {})

/** @param {Promise<unknown>} promise @returns {Promise<string>} `pending`, `resolved`, or the code of its error */
async function outcome (promise) {
  let result = 'pending'
  promise.then(() => { result = 'resolved' }, ({ code }) => { result = code })
  await settle()
  return result
}

/**
 * Opens `doc` with a `load`, and joins it.
 * @param {import('node:test').TestContext} t
 * @param {import('../../../client/types.js').Load} load
 */
async function openLoading (t, load) {
  const scripted = scriptedClient(t)
  const opening = scripted.client.open('doc', { load })
  opening.catch(() => {})
  await settle()
  scripted.socket.accepts()
  scripted.socket.tells('doc:joined', JOINED)
  await settle()
  return { ...scripted, opening }
}

describe('`open` with a `load` that hangs', () => {
  for (const [how, code, end] of /** @type {[string, string, (all: ReturnType<typeof scriptedClient>) => void][]} */ ([
    ['the gateway revokes the access', 'forbidden', ({ socket }) => socket.tells('doc:revoked', { guid: 'doc' })],
    ['the service closes the document', 'not_joined', ({ socket }) => socket.tells('doc:closed', { guid: 'doc' })],
    ['the client is closed', 'closed', ({ client }) => client.close()]
  ])) {
    test(`rejects when ${how}`, async (t) => {
      const all = await openLoading(t, hang)
      end(all)
      assert.equal(await outcome(all.opening), code)
    })
  }

  test('resolves when a resync has it loaded again, and that succeeds', async (t) => {
    let calls = 0
    const { socket, opening } = await openLoading(t, async ({ position }) => ++calls === 1 ? hang() : position)
    socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
    assert.equal(await outcome(opening), 'resolved')
    assert.equal((await opening).status, 'live')
  })
})

describe('`doc.ready` of one of several Documents', () => {
  for (const load of [undefined, hang]) {
    test(`rejects when this one is closed${load ? ', also with a `load`' : ''}`, async (t) => {
      const { client } = scriptedClient(t)
      const [one, other] = await Promise.all([1, 2].map(() => client.open('doc', { offline: true, load })))
      const outcomes = [one, other].map((doc) => outcome(doc.ready))
      one.close()
      assert.deepEqual(await Promise.all(outcomes), ['closed', 'pending'])
      other.close()
    })
  }

  test('rejects when the gateway refuses the client', async (t) => {
    const { client, socket } = scriptedClient(t)
    const doc = await client.open('doc', { offline: true })
    const ready = outcome(doc.ready)
    socket.refuses({ code: 'kicked', retryable: false })
    assert.equal(await ready, 'kicked')
    assert.equal(doc.status, 'joining')
  })
})

test('`doc.reload()` rejects when the document is closed while it loads', async (t) => {
  let calls = 0
  const { opening } = await openLoading(t, async ({ position }) => ++calls === 1 ? position : hang())
  const doc = await opening
  const reloading = doc.reload()
  assert.equal(await outcome(reloading), 'pending')
  doc.close()
  assert.equal(await outcome(reloading), 'closed')
})
