import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { rulesFile } from '../../helpers/rules-file.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET as WEBHOOK_SECRET, startWebhookService } from '../../helpers/webhook-service.js'

const FIRST = [
  { prefix: 'still/', presence: false, signals: 'nobody' },
  { prefix: 'open/', signals: 'everybody', echo: true },
  { prefix: 'mute/', echo: false },
  { prefix: 'slow/', rate: 2 },
  { prefix: 'short/', history: { size: 2 } }
]
const file = rulesFile({ after }, { rules: FIRST })
const env = { DOCUMENT_RULES_FILE: file.path, AUTH_JWT_SECRET: SECRET }
const { url, post } = await startEmbedded({ after }, env)

/** @param {string} sub @param {'read' | 'write'} access */
const tokenOf = (sub, access) => signToken({ sub, documents: [{ guid: '*', access }] })

/**
 * @param {import('node:test').TestContext} t
 * @param {string} guid
 * @param {'read' | 'write'} [access]
 * @param {string} [address]
 */
async function joined (t, guid, access = 'write', address = url) {
  const client = await connectClient(t, address, { auth: { token: await tokenOf(`user-${Math.random()}`, access) } })
  const answer = await client.ask('doc:join', { guid })
  assert.equal(answer.ok, true)
  return Object.assign(client, { answer })
}

/** @param {Awaited<ReturnType<typeof joined>>} client */
const texts = ({ received }) => received.filter(({ event }) => event === 'message').map(({ payload }) => payload)

describe('a rule for a kind of document', () => {
  test('turns presence off: a join is accepted without members, states and lists are refused', async (t) => {
    const client = await joined(t, 'still/1')
    const guid = 'still/1'
    const answer = await client.ask('doc:join', { guid, state: { color: 'red' } })
    assert.deepEqual([answer.ok, 'members' in answer, 'count' in answer], [true, false, false])
    for (const [event, argument] of /** @type {const} */ ([['doc:state', { guid, state: {} }], ['doc:members', { guid }]]))
      assert.equal((await client.ask(event, argument)).error.code, 'presence_off', event)
    const other = await joined(t, 'usual')
    assert.equal((await other.ask('doc:join', { guid: 'usual', state: {} })).count, 1)
    assert.equal((await other.ask('doc:join', { guid: 'still/1', state: {} })).ok, true)
    assert.equal(client.received.filter(({ event }) => event === 'doc:presence').length, 0)
  })

  test('says who may signal: nobody, writers, or everybody', async (t) => {
    const signal = (/** @type {any} */ client, /** @type {string} */ guid) =>
      client.ask('doc:signal', { guid, event: 'cursor', data: 1 }).then((/** @type {any} */ { ok, error }) => ok || error.code)
    for (const [guid, writer, reader] of [
      ['still/2', 'forbidden', 'forbidden'], ['usual-2', true, 'forbidden'], ['open/2', true, true]
    ]) {
      assert.equal(await signal(await joined(t, String(guid)), String(guid)), writer, `a writer in ${guid}`)
      assert.equal(await signal(await joined(t, String(guid), 'read'), String(guid)), reader, `a reader in ${guid}`)
    }
    const client = await joined(t, 'open/2')
    assert.equal(await signal(client, 'open/other'), 'not_joined')
    assert.equal((await joined(t, 'open/2', 'read')).answer.signals, true)
    assert.equal('signals' in (await joined(t, 'usual-2', 'read')).answer, false)
  })

  test('says whether a client gets its own messages and signals', async (t) => {
    for (const [guid, message, signal] of /** @type {const} */ ([
      ['usual-3', 1, 0], ['open/3', 1, 1], ['mute/3', 0, 0]
    ])) {
      const [client, other] = [await joined(t, guid), await joined(t, guid)]
      await client.ask('doc:send', { guid, data: 'message' })
      await client.ask('doc:signal', { guid, event: 'cursor', data: 1 })
      await client.ask('doc:send', { guid, event: 'end', data: 1 })
      await waitFor(() => other.received.some(({ event }) => event === 'end'), { message: guid })
      // its own: the answer to the next request comes after all records before it
      await client.ask('doc:history', { guid })
      const count = (/** @type {any} */ { received }, /** @type {string} */ name) =>
        received.filter((/** @type {{ event: string }} */ { event }) => event === name).length
      assert.deepEqual([count(client, 'message'), count(client, 'cursor')], [message, signal], guid)
      assert.deepEqual([count(other, 'message'), count(other, 'cursor')], [1, 1], guid)
    }
  })

  test('a client that is excluded from its own messages gets none of them after a reconnect either', async (t) => {
    const auth = { token: await tokenOf('ada', 'write'), client: 'tab-of-ada' }
    const guid = 'mute/4'
    const client = await connectClient(t, url, { auth })
    const { position } = await client.ask('doc:join', { guid })
    for (let i = 0; i < 3; i++) await client.ask('doc:send', { guid, data: i })
    client.disconnect()
    const again = await connectClient(t, url, { auth })
    assert.equal((await again.ask('doc:join', { guid, position })).recovered, true)
    assert.deepEqual(again.received, [])
  })

  test('limits the events of a connection, and leaving and joining again does not help', async (t) => {
    const guid = 'slow/5'
    const time = holdTime(t)
    const client = await joined(t, guid, 'write', (await startEmbedded(t, env, undefined, { clock: time.clock })).url)
    const send = () => client.ask('doc:send', { guid, data: 1 })
    const answers = await Promise.all(Array.from({ length: 8 }, send))
    assert.deepEqual(answers.map(({ ok }) => ok), [...Array(4).fill(true), ...Array(4).fill(false)])
    for (const { error } of answers.slice(4))
      assert.deepEqual([error.code, error.retryable, error.retryInMs], ['rate_limited', true, 500])
    await client.ask('doc:leave', { guid })
    await client.ask('doc:join', { guid })
    for (const asked of [send(), client.ask('doc:signal', { guid, event: 'x', data: 1 })])
      assert.equal((await asked).error?.code, 'rate_limited')
    time.pass(500)
    assert.deepEqual([(await send()).ok, (await send()).ok], [true, false])
    await client.ask('doc:join', { guid: 'usual-5' })
    for (let i = 0; i < 8; i++) assert.equal((await client.ask('doc:send', { guid: 'usual-5', data: 1 })).ok, true)
  })

  test('limits the log, and a changed file is in force for open documents; a wrong one changes nothing', async (t) => {
    const guid = 'short/6'
    const client = await joined(t, guid)
    const history = async () =>
      (await client.ask('doc:history', { guid })).records.map((/** @type {any} */ { payload }) => payload)
    const send = async (/** @type {number} */ data) => { await client.ask('doc:send', { guid, data }) }
    for (let i = 1; i <= 4; i++) await send(i)
    assert.deepEqual(await history(), [3, 4])
    file.write({ rules: [{ prefix: 'short/', history: { size: 3 }, signals: 'nobody', echo: false }] })
    await waitFor(async () => !(await client.ask('doc:signal', { guid, event: 'x', data: 1 })).ok, { message: 'the rule' })
    for (let i = 5; i <= 8; i++) await send(i)
    assert.deepEqual(await history(), [6, 7, 8])
    assert.deepEqual(texts(client), [1, 2, 3, 4])
    file.write('{ "rules": [{ "prefix": "short/", "signals": "everyone" }] }')
    await new Promise((resolve) => { setTimeout(resolve, 1500) })
    assert.equal((await client.ask('doc:signal', { guid, event: 'x', data: 1 })).error?.code, 'forbidden')
    file.write({ rules: FIRST })
    await waitFor(async () => (await client.ask('doc:signal', { guid, event: 'x', data: 1 })).ok, { message: 'the rule' })
  })
})

describe('records with a key, over HTTP', () => {
  /** @param {string} guid @param {unknown} value @param {string} [key] */
  const publish = async (guid, value, key) => {
    const { status } = await post(`/v1/documents/${guid}/broadcast`, value, key === undefined ? {} : { 'x-key': key })
    assert.equal(status, 202)
  }

  test('a stock client gets each live; one that resumes gets the newest of each key, and is not asked to resync', async (t) => {
    const guid = 'show'
    const live = await joined(t, guid)
    const { position } = live.answer
    for (let slide = 1; slide <= 30; slide++) await publish(guid, { slide }, 'slide')
    await publish(guid, { title: 'Plans' }, 'title')
    await publish(guid, { slide: 31 }, 'slide')
    await waitFor(() => texts(live).length === 32)
    assert.deepEqual(live.received.map(({ meta }) => meta.after), Array(32).fill(undefined))
    for (const offset of [0, 1, 17, 30]) {
      const client = await connectClient(t, url, { auth: { token: await tokenOf('eve', 'read') } })
      const answer = await client.ask('doc:join', { guid, position: { ...position, offset } })
      assert.deepEqual([answer.recovered, answer.position.offset], [true, 32])
      assert.deepEqual(client.received.map(({ event }) => event), ['message', 'message'])
      const [first, second] = client.received.map(({ meta }) => meta)
      // clients with several positions share a frame
      assert.ok(first.offset === 31 && (first.after ?? 30) <= offset, JSON.stringify(first))
      assert.deepEqual([second.offset, second.after], [32, undefined])
    }
    const { records, more } = await live.ask('doc:history', { guid })
    assert.deepEqual(records.map((/** @type {any} */ { payload }) => payload), [{ title: 'Plans' }, { slide: 31 }])
    assert.deepEqual([records[0].meta.after, more], [0, false])
  })

  test('inkcast/client counts no gap, and loads a document across replaced records', async (t) => {
    const guid = 'show-2'
    for (let slide = 1; slide <= 150; slide++) await publish(guid, { slide }, slide % 50 === 0 ? undefined : 'slide')
    const client = startClient(t, url, { token: await tokenOf('ada', 'write') })
    const before = await connectClient(t, url, { auth: { token: await tokenOf('bob', 'write') } })
    const { position } = await before.ask('doc:join', { guid })
    /** @type {number[]} */
    const shown = []
    let loads = 0
    const doc = await client.open(guid, { load: async () => { loads++; return { ...position, offset: 20 } } })
    doc.on('message', (/** @type {any} */ { slide }) => { shown.push(slide) })
    await waitFor(() => shown.at(-1) === 150)
    assert.deepEqual([shown, loads], [[50, 100, 149, 150], 1])
  })
})

describe('a document whose rule turns the webhook off', () => {
  test('has no service: its messages go to the others, and the service gets those of other documents only', async (t) => {
    const service = await startWebhookService(t)
    const quiet = rulesFile(t, { rules: [{ prefix: 'board/', webhook: false }] })
    const own = await startEmbedded(t, {
      DOCUMENT_RULES_FILE: quiet.path, UPLINK_URL: service.url, UPLINK_SECRETS: WEBHOOK_SECRET, PRESENCE_GRACE: '0'
    })
    const [client, other] = [await connectClient(t, own.url), await connectClient(t, own.url)]
    for (const guid of ['board/1', 'other']) {
      for (const each of [client, other]) await each.ask('doc:join', { guid })
      assert.equal((await client.ask('doc:send', { guid, event: 'edit', data: guid })).ok, true)
    }
    await waitFor(() => service.events.some(({ type }) => /message/.test(type)), { message: 'the message' })
    await waitFor(() => other.received.length > 0, { message: 'the other client' })
    assert.deepEqual(other.received.map(({ event, payload }) => [event, payload]), [['edit', 'board/1']])
    assert.ok(service.events.length > 0)
    assert.ok(!JSON.stringify(service.events).includes('board/1'))
    // the rule changes: the document has a service from now on
    quiet.write({ rules: [] })
    await waitFor(async () => {
      await client.ask('doc:send', { guid: 'board/1', event: 'edit', data: 'late' })
      return JSON.stringify(service.events).includes('late')
    }, { timeout: 10_000, message: 'the service to get messages' })
  })

  test('is left out by the webhook also where others read the uplink', async (t) => {
    const service = await startWebhookService(t)
    const quiet = rulesFile(t, { rules: [{ prefix: 'board/', webhook: false }] })
    const own = await startEmbedded(t, {
      DOCUMENT_RULES_FILE: quiet.path, UPLINK_URL: service.url, UPLINK_SECRETS: WEBHOOK_SECRET, UPLINK_GROUPS: 'audit'
    })
    const client = await connectClient(t, own.url)
    for (const guid of ['board/2', 'board/1', 'other']) {
      await client.ask('doc:join', { guid })
      assert.equal((await client.ask('doc:send', { guid, event: 'edit', data: guid })).ok, true)
    }
    await waitFor(() => service.events.some(({ operator }) => operator === 'message'), { message: 'the message' })
    await new Promise((resolve) => { setTimeout(resolve, 500) })
    assert.ok(!JSON.stringify(service.events).includes('board/'))
    assert.deepEqual(client.received, [])
  })
})
