import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameReader } from '../../../src/services/api/grpc/frame-reader.js'
import { callersFile } from '../../helpers/callers-file.js'
import { framed, METHODS, rawGrpc, startGrpcApi } from '../../helpers/grpc-api.js'
import { waitFor } from '../../helpers/wait.js'

const TOKEN = 'token-of-the-editor'
const { PublishBatch, PublishStream } = METHODS
const EDITOR = { name: 'editor', tokens: [{ text: TOKEN }], operators: ['broadcast'], guids: ['notes/*'] }
/** Kinds of publications that this caller is refused. @type {Record<string, object>} */
const REFUSED = {
  'no target': {},
  'an unknown operator': { operator: 'shout' },
  'no right to the document': { guid: 'minutes' },
  'no right to the operator': { operator: 'user', uid: 'ada' },
  // by the publish path
  'a target that the operator has no use for': { guid: 'notes/1', uid: 'ada' },
  'a reserved event': { guid: 'notes/1', event: 'doc:join' },
  'a value that is not JSON': { guid: 'notes/1', value: Buffer.from('{') },
  'a trace that cannot be read': { guid: 'notes/1', except: ['a,b'], timestamp: -1 }
}

/** @param {import('node:test').TestContext} t @param {object} [more] */
async function start (t, more = {}) {
  const { path } = callersFile(t, { callers: [{ ...EDITOR, ...more }] })
  const grpc = await startGrpcApi(t, { callersFile: path })
  const { stream, ended } = rawGrpc(t, grpc.port, { token: TOKEN }).call(PublishStream.path)
  /** @type {any[]} */
  const results = []
  const reader = new FrameReader(2 ** 22)
  stream.on('data', (chunk) => {
    for (const { bytes } of reader.read(chunk)) results.push(...PublishStream.responseDeserialize(bytes).results)
  })
  return {
    ...grpc, stream, ended, results,
    /** @param {object[]} publications */
    publish: (publications) => stream.write(framed(PublishStream.requestSerialize({ publications })))
  }
}

for (const [kind, one] of Object.entries(REFUSED)) {
  test(`a refused publication of a stream counts against the rate: ${kind}`, async (t) => {
    const { publish, results } = await start(t, { rate: { perSecond: 1, burst: 10 } })
    publish(Array.from({ length: 10 }, () => one))
    publish([{ guid: 'notes/1' }])
    await waitFor(() => results.length === 11)
    assert.ok(results.slice(0, 10).every(({ ok }) => !ok))
    assert.equal(results[10].error?.code, 'rate_limited')
  })

  test(`a stream of refused publications is read no faster than 1,000 per second: ${kind}`, async (t) => {
    const { publish, results, pass } = await start(t)
    for (let i = 0; i < 20; i++) publish(Array.from({ length: 1000 }, () => one))
    await waitFor(() => results.length === 3000)
    await pass(900)
    assert.equal(results.length, 3000)
    for (let i = 0; i < 3; i++) await pass(1000)
    await waitFor(() => results.length >= 5000)
    assert.ok(results.length <= 7000)
  })
}

test('messages with too many publications are refused and charged, however small the publications are', async (t) => {
  for (const method of [PublishBatch, PublishStream]) {
    const { port, clock } = await startGrpcApi(t, { tokens: [`editor:${TOKEN}`] })
    const client = rawGrpc(t, port, { token: TOKEN })
    const send = (/** @type {number} */ count) => {
      const { stream, ended } = client.call(method.path)
      stream.resume()
      stream.end(framed(Buffer.from('0a00'.repeat(count), 'hex')))
      return ended
    }
    for (const count of [1001, 400_000, 2_000_000]) {
      const { status, code } = await send(count)
      assert.deepEqual([status, code], [3, 'bad_request'])
    }
    const { status, code } = await send(1)
    assert.deepEqual([status, code], [8, 'rate_limited'])
    clock.advance(2000)
    assert.equal((await send(1)).status, 0)
  }
})

/** Calls that begin before anything of the caller is refused. */
const AT_ONCE = 50
/** Refused before the rights of the caller are looked at. */
const WRONG = { guid: 'notes/1', except: ['a,b'] }

for (const [name, method] of Object.entries({ PublishStream, PublishBatch })) {
  test(`messages of ${AT_ONCE} calls of ${name} at once are refused no faster than those of one`, async (t) => {
    const { port, callers, pass } = await startGrpcApi(t, { tokens: [`editor:${TOKEN}`] })
    const client = rawGrpc(t, port, { token: TOKEN })
    let refused = 0
    const { rates } = callers
    const charge = rates.refused.bind(rates)
    t.mock.method(rates, 'refused', (/** @type {string} */ caller, count = 1) => {
      refused += count
      charge(caller, count)
    })
    const message = framed(method.requestSerialize({ publications: Array.from({ length: 1000 }, () => WRONG) }))
    const calls = Array.from({ length: AT_ONCE }, () => client.call(method.path))
    for (const { stream } of calls) stream.resume().write(message.subarray(0, 10))
    /** Resolves when all bytes sent before have arrived. */
    const arrived = () => {
      const { stream, ended } = client.call('/none')
      stream.resume().end()
      return ended
    }
    await arrived()
    for (const { stream } of calls) stream.end(message.subarray(10))
    await waitFor(() => refused >= 2000, { message: () => `${refused} refusals` })
    await arrived()
    // the burst of 2,000, the message that exceeds it, and each refused call of PublishBatch itself
    assert.ok(refused <= 3000 + AT_ONCE, `${refused}`)
    const before = refused
    for (let i = 0; i < 5; i++) await pass(1000)
    await arrived()
    assert.ok(refused <= before + 7000, `${refused - before} in 5 s`)
  })
}
