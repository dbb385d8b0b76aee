import assert from 'node:assert/strict'
import { test } from 'node:test'
import { once } from 'node:events'
import { ERRORS } from '../../../src/base/common/errors.js'
import { operations } from '../../../src/services/api/operations/index.js'
import { fieldOfHeader, rpcOf } from '../../../src/services/api/grpc/names.js'
import { statusOf } from '../../../src/services/api/grpc/status.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { grpcClient } from '../../helpers/grpc.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { waitFor } from '../../helpers/wait.js'
import { loadSync } from '@grpc/proto-loader'
import { PROTO } from '../../../src/services/api/grpc/rpcs.js'

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [env] @param {string} [token] */
async function start (t, env = {}, token) {
  const inkcast = await startEmbedded(t, { GRPC_PORT: '0', ...env })
  return { ...inkcast, ...grpcClient(t, inkcast.grpcPort(), token) }
}

const camel = (/** @type {{ name: string }} */ { name }) =>
  name.replace(/_([a-z])/g, (_all, letter) => letter.toUpperCase())

test('every operation has an rpc, and every parameter and header a field', () => {
  /** @type {any} */
  const { 'inkcast.v1.Gateway': service, ...types } = loadSync(PROTO)
  for (const operation of operations) {
    const rpc = rpcOf(operation)
    assert.ok(service[rpc], rpc)
    const fieldsOf = (/** @type {string} */ name) => new Set(types[`inkcast.v1.${name}`].type.field.map(camel))
    const fields = fieldsOf(`${rpc}Request`)
    const wanted = [
      ...[...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name),
      ...Object.keys(operation.query ?? {}),
      ...(operation.headers ?? []).map(fieldOfHeader),
      ...(operation.body === 'value' ? ['value', 'contentType'] : [])
    ]
    assert.deepEqual(wanted.filter((name) => !fields.has(name)), [], rpc)
    const answered = fieldsOf(`${rpc}Response`)
    const answers = Object.keys({ ...operation.answer, ...operation.optional })
    assert.deepEqual(answers.filter((name) => !answered.has(name)), [], rpc)
  }
})

test('every operation works over gRPC, and values arrive byte for byte', async (t) => {
  const { url, call } = await start(t)
  const doc = await openDocument(startClient(t, url), 'minutes')
  const value = Buffer.from('{ "n" : 12345678901234567890 }')
  const first = await call('Broadcast', { guid: 'minutes', value, traceId: 't1', idempotencyKey: 'k' })
  assert.deepEqual([first.traceId, first.position.offset], ['t1', 1])
  assert.deepEqual(await call('Broadcast', { guid: 'minutes', value, idempotencyKey: 'k' }), first)
  const { failed, results } = await call('PublishBatch', {
    publications: [{ guid: 'minutes', value: Buffer.from('2') }, { guid: '', value: Buffer.from('3') }]
  })
  assert.deepEqual([failed, results[1].error.code, results[0].position.offset], [1, 'bad_target', 2])
  await doc.has(2)
  const history = await call('History', { guid: 'minutes', limit: 10 })
  assert.deepEqual(
    history.records.map((/** @type {any} */ one) => [one.offset, one.value.toString()]),
    [[1, value.toString()], [2, '2']]
  )
  assert.deepEqual((await call('Position', { guid: 'minutes' })).position, history.position)
  assert.equal((await call('Cut', { guid: 'minutes', ...first.position })).removed, 1)
  const { members, count } = await call('Presence', { guid: 'minutes' })
  assert.equal(members?.length ?? 0, count ?? 0)
  for (const [rpc, request] of /** @type {const} */ ([
    ['SendToUser', { uid: 'ada', value: Buffer.from('1') }],
    ['SendToSocket', { sid: 'x', value: Buffer.from([0x93, 1, 2, 3]), contentType: 'application/msgpack' }],
    ['SendToEveryone', { value: Buffer.from('1') }],
    ['Revoke', { guid: 'minutes', uid: 'ada' }],
    ['KickUser', { uid: 'ada' }],
    ['KickSocket', { sid: 'x' }]
  ])) assert.equal(typeof (await call(rpc, request)).traceId, 'string', rpc)
  assert.equal((await call('Sessions', { uid: 'ada' })).uid, 'ada')
})

test('errors have a status, and the code of the table', async (t) => {
  const { call } = await start(t)
  for (const [rpc, request, code, inkcast] of /** @type {[string, object, number, string][]} */ ([
    ['Broadcast', { value: Buffer.from('1') }, 3, 'bad_target'],
    ['Broadcast', { guid: 'g', value: Buffer.from('{') }, 3, 'bad_value'],
    ['Broadcast', { guid: 'g', value: Buffer.from('1'), event: 'doc:x' }, 3, 'reserved_event'],
    ['Broadcast', { guid: 'g', value: Buffer.from('1'), except: ['a,b'] }, 3, 'bad_header'],
    ['Broadcast', { guid: 'g', value: Buffer.alloc(2 ** 20 + 1, '1') }, 3, 'value_too_large'],
    ['History', { guid: 'g', limit: 1001 }, 3, 'bad_request'],
    ['Cut', { guid: 'g', epoch: 'e', offset: 1 }, 9, 'not_in_log'],
    ['Revoke', { guid: 'g' }, 3, 'missing_target']
  ])) assert.deepEqual(await call(rpc, request), { code, inkcast }, rpc)
  assert.equal((await call('Broadcast', { guid: 'g', value: Buffer.alloc(6 * 2 ** 20) })).code, 8)
  // every code of the table has a status of its own meaning
  for (const code of /** @type {(keyof typeof ERRORS)[]} */ (Object.keys(ERRORS))) assert.ok(statusOf(code) > 2, code)
})

test('with tokens every call and stream needs one', async (t) => {
  const { grpcPort, call, metrics } = await start(t, { API_TOKENS: 'editor:0123456789abcdef' })
  assert.deepEqual(await call('Position', { guid: 'g' }), { code: 16, inkcast: 'unauthorized' })
  for (const rpc of /** @type {const} */ (['PublishStream', 'Events'])) {
    const stream = grpcClient(t, grpcPort()).stream(rpc)
    stream.resume()
    const [error] = await once(stream, 'error')
    assert.equal(error.code, 16)
  }
  const known = grpcClient(t, grpcPort(), '0123456789abcdef')
  assert.equal((await known.call('Position', { guid: 'g' })).guid, 'g')
  const { values } = await metrics.grpc_calls.get()
  assert.deepEqual(values.map(({ labels, value }) => `${labels.operation} ${labels.code} ${value}`).sort(), [
    'events unauthorized 1', 'position ok 1', 'position unauthorized 1', 'publishStream unauthorized 1'
  ])
})

test('a stream publishes in order, with one result for each publication in its place', async (t) => {
  const { url, stream } = await start(t)
  const doc = await openDocument(startClient(t, url), 'a')
  const publishing = stream('PublishStream')
  /** @type {any[]} */
  const results = []
  publishing.on('data', (/** @type {any} */ message) => results.push(...message.results))
  for (let i = 0; i < 1000; i++) {
    publishing.write({ publications: [
      { guid: 'a', value: Buffer.from(String(i)) }, { guid: `other-${i % 7}`, value: Buffer.from(i % 10 === 0 ? '{' : '1') }
    ] })
  }
  publishing.end()
  await once(publishing, 'end')
  assert.equal(results.length, 2000)
  assert.ok(results.every(({ ok, error }, i) => i % 20 === 1 ? error.code === 'bad_value' : ok === true))
  await doc.has(999)
  assert.deepEqual(doc.seen, Array.from({ length: 1000 }, (_, i) => i))
})

test('a stream ends when the process stops, after the results of what was read', async (t) => {
  const { stream, stop } = await start(t)
  const publishing = stream('PublishStream')
  /** @type {any[]} */
  const results = []
  publishing.on('data', (/** @type {any} */ message) => results.push(...message.results))
  publishing.write({ publications: [{ guid: 'a', value: Buffer.from('1') }] })
  await waitFor(() => results.length === 1)
  const failed = once(publishing, 'error')
  await stop()
  const [error] = await failed
  assert.deepEqual([error.code, error.metadata.get('inkcast-code')], [14, ['draining']])
})

test('events of clients arrive, and again until they are acknowledged', async (t) => {
  const { url, stream } = await start(t, { UPLINK_GROUPS: 'billing' })
  const doc = await openDocument(startClient(t, url), 'minutes')
  await doc.send({ text: 'hello' })
  /** @param {boolean} acknowledges @param {(got: any[]) => boolean} until */
  async function read (acknowledges, until) {
    const events = stream('Events')
    /** @type {any[]} */
    const got = []
    events.on('data', (/** @type {any} */ message) => {
      got.push(...message.events)
      if (acknowledges && !events.writableEnded) events.write({ done: message.batch })
    })
    events.write({ group: 'billing' })
    await waitFor(() => until(got))
    events.end()
    await once(events, 'end')
    return got.filter(({ operator }) => operator === 'message').map(({ guid, uid, value }) => [guid, uid, String(value)])
  }
  const has = (/** @type {string} */ text) => (/** @type {any[]} */ got) =>
    got.some(({ value }) => String(value).includes(text))
  const [hello] = await read(false, has('hello'))
  assert.deepEqual([hello[0], hello[2]], ['minutes', '{"text":"hello"}'])
  assert.deepEqual(await read(true, has('hello')), [hello])
  await doc.send({ text: 'bye' })
  assert.deepEqual((await read(true, has('bye'))).map(([, , value]) => value), ['{"text":"bye"}'])
  const wrong = stream('Events')
  wrong.resume()
  wrong.write({ group: 'nobody' })
  assert.equal((await once(wrong, 'error'))[0].code, 3)
})
