import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { ERROR_CODES, InkcastError, Publisher, verifyWebhook } from 'inkcast-publisher'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { compareWithOpenapi, startRecordingApi } from '../../helpers/recording-api.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after })
const inkcast = new Publisher({ url: server.apiUrl })
const fresh = () => `doc-${randomUUID()}`

/** @param {string} path @returns {Promise<any>} */
const read = async (path) => (await fetch(server.apiUrl + path)).json()
const recordsOf = async (/** @type {string} */ guid) => (await read(`/v1/documents/${guid}/history`)).records

/** Time that passes only while a publisher waits. */
function passingTime () {
  let now = 0
  /** @type {number[]} */
  const pauses = []
  return {
    pauses,
    time: {
      now: () => now,
      monotonic: () => now,
      random: () => 1,
      async wait (/** @type {number} */ ms) {
        pauses.push(ms)
        now += ms
      }
    }
  }
}

/**
 * A publisher of the whole inkcast, behind a proxy that spoils the first answers.
 * @param {import('node:test').TestContext} t
 * @param {((res: import('http').ServerResponse, forward: () => Promise<Response>) => unknown)[]} spoilers in turn
 */
async function behindProxy (t, spoilers) {
  const { url, requests } = await startRecordingApi(t, async ({ method, path, headers, body }, res, i) => {
    const names = ['content-type', 'idempotency-key', 'x-event']
    const kept = Object.fromEntries(names.flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]]))
    const forward = () => fetch(server.apiUrl + path, { method, headers: kept, ...(body !== '' && { body }) })
    const pass = async () => {
      const answer = await forward()
      res.writeHead(answer.status).end(await answer.text())
    }
    await (spoilers[i] ?? pass)(res, forward)
  })
  const { time, pauses } = passingTime()
  return { publisher: new Publisher({ url }, time), requests, pauses }
}

describe('a publisher', () => {
  test('publishes to documents and users, in batches too, as clients see it', async (t) => {
    const guid = fresh()
    const client = await connectClient(t, server.url)
    await client.ask('doc:join', { guid })
    const edit = client.next('größe')
    const { position } = await inkcast.publish(guid, { text: 'Grüße' }, { event: 'größe', key: 'a' })
    assert.equal(position?.offset, 1)
    assert.deepEqual((await edit)[0], { text: 'Grüße' })
    const [first, refused, user] = await inkcast.batch([
      { guid, value: 1 }, { guid: 'other', event: 'doc:x', value: 2 }, { operator: 'user', uid: 'ada', value: 3, keep: true }
    ])
    assert.equal(first.ok && first.position?.offset, 2)
    assert.ok(!refused.ok && refused.error instanceof InkcastError)
    assert.deepEqual([refused.error.code, refused.error.retryable], ['reserved_event', false])
    assert.equal(user.ok, true)
    assert.equal((await inkcast.publishToUser('ada', 4, { keep: true })).position?.offset, 2)
  })

  test('carries out orders, and says how many connections they concerned', async (t) => {
    const guid = fresh()
    const client = await connectClient(t, server.url)
    await client.ask('doc:join', { guid })
    const closed = client.next('doc:closed')
    assert.equal((await inkcast.close(guid, { code: 'moved', reason: 'It is elsewhere' })).connections, 1)
    assert.deepEqual((await closed)[0], { guid, code: 'moved', reason: 'It is elsewhere' })
    const uid = await waitFor(async () => (await read(`/v1/sockets/${client.id}`)).uid)
    await client.ask('doc:join', { guid })
    assert.equal((await inkcast.revoke(guid, uid, { ttl: 60 })).connections, 1)
    assert.equal((await client.ask('doc:join', { guid })).error.code, 'forbidden')
    await inkcast.restore(guid, uid)
    assert.equal((await client.ask('doc:join', { guid })).ok, true)
    const gone = new Promise((resolve) => client.once('disconnect', resolve))
    assert.equal((await inkcast.ban(uid, 60)).connections, 1)
    await gone
    assert.equal((await inkcast.unban(uid)).ok, true)
  })

  test('waits as long as a 503 asks, and gives up when that is after its deadline', async (t) => {
    const guid = fresh()
    /** @param {import('http').ServerResponse} res */
    const busy = (res) => res.writeHead(503, { 'retry-after': '7' }).end('busy')
    const { publisher, requests, pauses } = await behindProxy(t, [busy, busy])
    assert.equal((await publisher.publish(guid, 1)).position?.offset, 1)
    assert.deepEqual(pauses, [7200, 7400])
    assert.equal(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size, 1)
    const hasty = await behindProxy(t, [busy])
    const expected = { code: 'unavailable', status: 503, retryInMs: 7000 }
    await assert.rejects(hasty.publisher.publish(guid, 1, { deadlineMs: 5000 }), expected)
    assert.deepEqual(hasty.pauses, [])
  })

  test('a connection that is cut after the record was taken leaves one record', async (t) => {
    const guid = fresh()
    /** @param {import('http').ServerResponse} res @param {() => Promise<Response>} forward */
    const cut = async (res, forward) => {
      await (await forward()).text()
      res.destroy()
    }
    const { publisher, requests } = await behindProxy(t, [cut, cut])
    assert.equal((await publisher.publish(guid, 'once')).position?.offset, 1)
    assert.equal(requests.length, 3)
    const batch = await behindProxy(t, [cut])
    const results = await batch.publisher.batch([{ guid, value: 'two' }, { guid, value: 'three' }])
    assert.deepEqual(results.map(({ ok }) => ok), [true, true])
    assert.deepEqual((await recordsOf(guid)).map((/** @type {any} */ { value }) => value), ['once', 'two', 'three'])
  })

  test('what is final is not tried again', async (t) => {
    const { publisher, requests } = await behindProxy(t, [])
    await assert.rejects(publisher.publish(fresh(), 1, { event: 'doc:x' }), (/** @type {any} */ error) => {
      assert.ok(error instanceof InkcastError)
      assert.deepEqual([error.code, error.status, error.retryable, error.unknownOutcome], ['reserved_event', 400, false, false])
      return true
    })
    assert.equal(requests.length, 1)
    await assert.rejects(publisher.publish(fresh(), undefined), { code: 'bad_value' })
    await assert.rejects(publisher.publish(fresh(), 1, /** @type {any} */ ({ evnt: 'x' })), { code: 'bad_request' })
    const nowhere = new Publisher({ url: 'http://127.0.0.1:1', deadlineMs: 0 })
    await assert.rejects(nowhere.publish(fresh(), 1), { retryable: true, status: 0 })
  })

  test('of a batch only what failed for the moment is sent again, with its key', async (t) => {
    const failed = { ok: false, error: { code: 'unavailable', message: 'm', retryable: true, retryInMs: 50 } }
    const refused = { ok: false, error: { code: 'bad_value', message: 'm', retryable: false } }
    const together = { ok: false, error: { code: 'batch_refused', message: 'm', retryable: false } }
    const ok = { ok: true, traceId: 't' }
    const answers = [[ok, failed, together, refused, together], [ok, ok]]
    const { url, requests } = await startRecordingApi(t, (_request, res, i) =>
      res.end(JSON.stringify({ ok: true, failed: 0, results: answers[i] })))
    const results = await new Publisher({ url }, passingTime().time).batch([
      { guid: 'a', value: 1 }, { guid: 'b', value: 2 }, { guid: 'b', value: 3 }, { guid: 'c', value: 4 }, { guid: 'c', value: 5 }
    ])
    assert.deepEqual(results.map((one) => one.ok ? 'ok' : one.error.code), ['ok', 'ok', 'ok', 'bad_value', 'batch_refused'])
    const [first, second] = requests.map(({ body }) => JSON.parse(body).publications)
    assert.deepEqual(second, [first[1], first[2]])
    assert.equal(new Set(first.map((/** @type {any} */ one) => one.idempotencyKey)).size, 5)
  })

  test('sends only what openapi.json has, and names only codes of docs/errors.md', async (t) => {
    const { url, requests } = await startRecordingApi(t)
    const recorded = new Publisher({ url, token: async () => 'secret' })
    const request = { idempotencyKey: 'k', traceId: 't', traceparent: '00-0-0-01', timestamp: 1 }
    const send = { ...request, event: 'e', except: ['a', 'b'], receipt: true }
    const bytes = new Uint8Array([1])
    await recorded.publish('a/b', 1, { ...send, ephemeral: false, key: 'x' })
    await recorded.publish('a', bytes)
    await recorded.publishToUser('u', 1, { ...send, keep: true, key: 'x' })
    await recorded.publishToDevice('d', 1, { ...send, uid: 'u', keep: true, key: 'x' })
    await recorded.publishToConnection('s', 1, send)
    await recorded.publishToEveryone(1, send)
    await recorded.batch([
      { ...send, guid: 'a', value: 1, ephemeral: true, key: 'x' },
      { ...send, operator: 'user', uid: 'u', value: bytes, keep: true }
    ])
    await recorded.kick('u', request)
    await recorded.ban('u', 60, request)
    await recorded.unban('u', request)
    await recorded.kickDevice('d', { ...request, uid: 'u' })
    await recorded.kickConnection('s', request)
    await recorded.revoke('a', 'u', { ...request, ttl: 60 })
    await recorded.restore('a', 'u', request)
    await recorded.close('a', { ...request, code: 'c', reason: 'r' })
    await recorded.join('u', 'a', request)
    await recorded.leave('u', 'a', { ...request, code: 'c', reason: 'r' })
    const { wrong, operations } = compareWithOpenapi(requests, await read('/openapi.json'))
    assert.deepEqual(wrong, [])
    assert.deepEqual(operations, [
      'broadcast', 'close', 'join', 'kickDevice', 'kickSocket', 'kickUser', 'leave', 'publishBatch', 'restore', 'restoreUser',
      'revoke', 'sendToDevice', 'sendToEveryone', 'sendToSocket', 'sendToUser'
    ])
    assert.ok(requests.every(({ headers }) => headers.authorization === 'Bearer secret'))
    const listed = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
    assert.deepEqual(ERROR_CODES.filter((code) => !listed.includes(`| \`${code}\` |`)), [])
  })
})

describe('the check of a webhook', () => {
  const key = Buffer.alloc(24, 7)
  const secret = `whsec_${key.toString('base64')}`
  const body = '[{"operator":"online"}]'
  const now = 1_700_000_000_000
  const headers = {
    'webhook-id': 'a', 'webhook-timestamp': String(now / 1000),
    'webhook-signature': `v1,AAAA v1,${createHmac('sha256', key).update(`a.${now / 1000}.${body}`).digest('base64')}`
  }

  test('accepts a request of inkcast, with one of several secrets', () => {
    assert.deepEqual(verifyWebhook(secret, headers, body, { now }), [{ operator: 'online' }])
    const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
    const late = { now: now + 299_000 }
    assert.equal(verifyWebhook([other, secret], new Headers(headers), Buffer.from(body), late).length, 1)
  })

  test('refuses another body, another secret, an old time and missing headers', () => {
    const wrong = { code: 'unauthorized' }
    assert.throws(() => verifyWebhook(secret, headers, `${body} `, { now }), wrong)
    assert.throws(() => verifyWebhook(`whsec_${Buffer.alloc(24).toString('base64')}`, headers, body, { now }), wrong)
    assert.throws(() => verifyWebhook(secret, headers, body, { now: now + 301_000 }), wrong)
    assert.throws(() => verifyWebhook(secret, { ...headers, 'webhook-timestamp': '1e9' }, body, { now }), wrong)
    for (const name of Object.keys(headers))
      assert.throws(() => verifyWebhook(secret, { ...headers, [name]: undefined }, body, { now }), wrong, name)
  })
})
