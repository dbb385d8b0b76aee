import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { entry, range } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'

/** @typedef {Awaited<ReturnType<typeof connectClient>>} Client */

const TRANSPORTS = { websocket: ['websocket'], polling: ['polling'], upgraded: ['polling', 'websocket'] }

const VALUES = {
  'unicode': { text: 'Grüße, 世界, 👩‍👩‍👧, \u2028 " \\ \u0000 \u001e', 'ключ': '\ud83d\ude00' },
  'an integer': 42,
  'numbers': [0, -1, 1.5, 1e21, 2 ** 53 - 1, -(2 ** 31)],
  'null': null,
  'booleans': [true, false],
  'nested': { a: [{ b: { c: [[], {}, [null]] } }] },
  'an empty string': '',
  'an empty object': {},
  'an empty array': [],
  'a megabyte': 'x'.repeat(2 ** 20 - 20)
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {string} guid document that all of them join
 * @returns {Promise<Record<string, Client>>} clients by kind
 */
async function everyKind (t, url, guid) {
  const kinds = /** @type {const} */ (['json', 'msgpack']).flatMap((codec) =>
    Object.entries(TRANSPORTS).map(([name, transports]) => ({ name: `${codec} ${name}`, codec, transports }))
  )
  return Object.fromEntries(await Promise.all(kinds.map(async ({ name, codec, transports }) => {
    const client = await connectClient(t, url, { codec, transports })
    if (name.endsWith('upgraded'))
      await waitFor(() => client.io.engine.transport.name === 'websocket', { message: 'the upgrade' })
    assert.equal((await client.ask('doc:join', { guid })).ok, true)
    return [name, client]
  })))
}

/** @param {Record<string, Client>} clients @param {number} count */
const allHave = (clients, count) =>
  waitFor(() => Object.values(clients).every(({ received }) => received.length >= count), {
    message: () =>
      `${count} records: ${Object.entries(clients).map(([name, { received }]) => `${name} ${received.length}`)}`
  })

describe('every kind of client gets the same', () => {
  test('from JSON and from msgpack, with a meta of document, offset, trace and time', async (t) => {
    const server = await startEmbedded(t)
    const clients = await everyKind(t, server.url, 'doc')
    const published = Object.entries(VALUES).flatMap(([name, value]) => [
      { name, value, body: value },
      { name: `${name}, msgpack`, value, body: encodeMsgpack(value) }
    ])
    for (const [i, { name, body }] of published.entries()) {
      const answer = await server.post('/v1/documents/doc/broadcast', body, {
        'x-event': 'edit',
        'x-timestamp': '1700000000000',
        'x-trace-id': `trace-${i}`
      })
      assert.equal(answer.status, 202, `${name}: ${JSON.stringify(answer.body)}`)
    }
    await allHave(clients, published.length)
    for (const [kind, { received }] of Object.entries(clients)) {
      for (const [i, { name, value }] of published.entries()) {
        const { event, payload, meta } = received[i]
        assert.equal(event, 'edit')
        assert.deepEqual(payload, value, `${name} for ${kind}`)
        assert.deepEqual(
          meta,
          { guid: 'doc', offset: i + 1, traceId: `trace-${i}`, ts: 1700000000000 },
          `${name} for ${kind}`
        )
      }
    }
    for (const [name, { io, received }] of Object.entries(clients)) {
      assert.equal(received.length, published.length, name)
      assert.equal(io.engine.transport.name, name.endsWith('polling') ? 'polling' : 'websocket')
    }
  })

  test('binary, which JSON clients get as attachments up to their limit of ten, and otherwise as text', async (t) => {
    const server = await startEmbedded(t)
    const clients = await everyKind(t, server.url, 'doc')
    const bytes = Buffer.from([0, 255, 30, 1])
    const attachments = { one: bytes, ten: Array(10).fill(bytes), in: { a: [{ b: bytes }], empty: Buffer.alloc(0) } }
    /** @type {[unknown, unknown][]} published value, and the value for JSON clients */
    const cases = [
      [bytes, bytes],
      [attachments.in, attachments.in],
      [attachments.ten, attachments.ten],
      [Array(11).fill(bytes), Array(11).fill(bytes.toString('base64'))],
      // a client's decoder would refuse an object that only looks like an attachment
      [
        { bytes, fake: { _placeholder: true, num: 7 } },
        { bytes: bytes.toString('base64'), fake: { _placeholder: true, num: 7 } }
      ],
      [{ fake: { _placeholder: true, num: 0 } }, { fake: { _placeholder: true, num: 0 } }]
    ]
    for (const [i, [value, forJson]] of cases.entries()) {
      assert.equal((await server.post('/v1/documents/doc/broadcast', encodeMsgpack(value))).status, 202)
      await allHave(clients, i + 1)
      for (const [kind, { received }] of Object.entries(clients)) {
        assert.deepEqual(received[i].payload, kind.startsWith('json') ? forJson : value, `${kind}, case ${i}`)
        assert.equal(received[i].meta.offset, i + 1)
      }
    }
  })

  test('in order and once each, 500 at a time, also during a change of transport', async (t) => {
    const server = await startEmbedded(t)
    const clients = await everyKind(t, server.url, 'doc')
    const { position } = await clients['json websocket'].ask('doc:join', { guid: 'doc' })
    /** @type {Set<string>} */
    const transports = new Set()
    for (let i = 0; i < 500; i++) {
      server.gateway.bus.publish([entry('doc', i)])
      if (i === 50) {
        for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
          const client = (clients[`${codec} upgrading`] = createClient(t, server.url, {
            codec,
            transports: TRANSPORTS.upgraded,
            auth: { documents: { doc: position } }
          }))
          client.on('message', () => transports.add(client.io.engine.transport.name))
        }
      }
      if (i % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const records = (/** @type {Client} */ client) => client.received.filter(({ event }) => event === 'message')
    await waitFor(() => Object.values(clients).every((client) => records(client).length >= 500), {
      message: () => Object.entries(clients).map(([name, client]) => `${name} ${records(client).length}`).join()
    })
    for (const [name, client] of Object.entries(clients)) {
      const got = records(client)
      assert.deepEqual(got.map(({ payload }) => payload), range(500), name)
      assert.deepEqual(got.map(({ meta }) => meta.offset), range(500, 1), name)
    }
    assert.deepEqual([...transports].sort(), ['polling', 'websocket'])
  })
})
