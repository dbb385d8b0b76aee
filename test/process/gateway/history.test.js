import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { SECRET, signToken as sign } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'

const file = { after }
const server = await startEmbedded(file, { MAX_RECORD_BYTES: '600000', AUTH_JWT_SECRET: SECRET, HISTORY_MAX_LENGTH: '300' })
const fresh = () => `doc-${randomBytes(6).toString('hex')}`

/** @param {'json' | 'msgpack'} codec @param {string} guid */
async function joined (codec, guid, documents = [{ guid: '*', access: 'write' }]) {
  const client = await connectClient(file, server.url, { codec, auth: { token: await sign({ sub: 'ada', documents }) } })
  assert.equal((await client.ask('doc:join', { guid })).ok, true)
  return client
}

/** @param {string} guid @param {number} count */
async function publish (guid, count) {
  for (let i = 1; i <= count; i++) await server.post(`/v1/documents/${guid}/broadcast`, { i })
}

for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
  describe(`doc:history of a ${codec} client`, () => {
    test('pages from the end to the beginning, each record as it was delivered', async () => {
      const guid = fresh()
      const client = await joined(codec, guid)
      await publish(guid, 25)
      const pages = []
      /** @type {number | undefined} */
      let before
      for (let more = true; more;) {
        const answer = await client.ask('doc:history', { guid, limit: 10, ...(before && { before }) })
        assert.deepEqual([answer.ok, answer.guid, answer.position.offset], [true, guid, 25])
        pages.unshift(...answer.records)
        ;({ more } = answer)
        before = answer.records[0].meta.offset
      }
      const live = client.received.filter(({ event }) => event === 'message')
      assert.deepEqual(pages.map(({ payload }) => payload.i), Array.from({ length: 25 }, (_, i) => i + 1))
      assert.deepEqual(
        pages.map(({ event, payload, meta }) => [event, payload, meta]),
        live.map(({ event, payload, meta }) => [event, payload, meta])
      )
    })

    test('has binary, in the form of live records', async () => {
      const guid = fresh()
      const client = await joined(codec, guid)
      const value = { bytes: Buffer.from([1, 2, 3]), many: Array.from({ length: 4 }, (_, i) => Buffer.from([i])) }
      for (let i = 0; i < 4; i++) await server.post(`/v1/documents/${guid}/broadcast`, encodeMsgpack(value))
      const { records, more } = await client.ask('doc:history', { guid })
      const live = client.received.filter(({ event }) => event === 'message').map(({ payload }) => payload)
      // a message to JSON clients has at most ten attachments
      assert.deepEqual([records.length, more], codec === 'json' ? [2, true] : [4, false])
      assert.deepEqual(records.map((/** @type {any} */ { payload }) => payload), live.slice(-records.length))
    })

    test('ends before a megabyte, with at least one record', async () => {
      const guid = fresh()
      const client = await joined(codec, guid)
      for (let i = 0; i < 4; i++) await server.post(`/v1/documents/${guid}/broadcast`, { i, text: 'x'.repeat(450_000) })
      const { records, more } = await client.ask('doc:history', { guid })
      assert.deepEqual([records.map((/** @type {any} */ { payload }) => payload.i), more], [[2, 3], true])
    })
  })
}

test('doc:history reaches as far as the log, and says when that is all', async () => {
  const guid = fresh()
  const client = await joined('json', guid)
  assert.deepEqual((await client.ask('doc:history', { guid })).records, [])
  await publish(guid, 20)
  const { position } = await (await fetch(`${server.apiUrl}/v1/documents/${guid}/position`)).json()
  const cut = await server.post(`/v1/documents/${guid}/cut`, { ...position, offset: 13 })
  assert.deepEqual([cut.status, cut.body], [200, { ok: true, guid, position, removed: 13 }])
  const first = await client.ask('doc:history', { guid, limit: 5 })
  const numbers = (/** @type {any} */ { records }) => records.map((/** @type {any} */ { payload }) => payload.i)
  assert.deepEqual([numbers(first), first.more], [[16, 17, 18, 19, 20], true])
  const last = await client.ask('doc:history', { guid, limit: 5, before: 16 })
  assert.deepEqual([numbers(last), last.more], [[14, 15], false])
})

test('doc:history needs the document to be joined', async () => {
  const guid = fresh()
  const client = await joined('json', guid)
  assert.equal((await client.ask('doc:history', { guid: fresh() })).error.code, 'not_joined')
  await client.ask('doc:leave', { guid })
  assert.equal((await client.ask('doc:history', { guid })).error.code, 'not_joined')
})

test('a join says when the token allows reading only', async () => {
  const guid = fresh()
  const reader = await connectClient(file, server.url, {
    auth: { token: await sign({ sub: 'bob', documents: [{ guid: 'doc-*', access: 'read' }] }), documents: { [guid]: null } }
  })
  const joined = () => reader.received.find(({ event }) => event === 'doc:joined')
  await waitFor(() => joined()?.payload.access === 'read', { message: () => reader.received })
  assert.equal((await reader.ask('doc:join', { guid: fresh() })).access, 'read')
  const writer = await joinedAnswer()
  assert.ok(!('access' in writer))

  async function joinedAnswer () {
    const client = await connectClient(file, server.url, {
      auth: { token: await sign({ sub: 'ada', documents: [{ guid: 'doc-*', access: 'write' }] }) }
    })
    return client.ask('doc:join', { guid: fresh() })
  }
})

describe('POST …/cut refuses', () => {
  for (const [name, body, status, code] of /** @type {const} */ ([
    ['a body that is no position', { epoch: 'e' }, 400, 'bad_request'],
    ['further fields', { epoch: 'e', offset: 1, more: 1 }, 400, 'bad_request'],
    ['a position of another log', { epoch: 'e', offset: 1 }, 409, 'not_in_log']
  ])) {
    test(name, async () => {
      const guid = fresh()
      await publish(guid, 2)
      const answer = await server.post(`/v1/documents/${guid}/cut`, body)
      assert.deepEqual([answer.status, answer.body.error.code], [status, code])
    })
  }
})
