import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { callersFile } from '../../helpers/callers-file.js'
import { countedBy } from '../../helpers/counted.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { lacksPythonWebhooks, verifyInPython } from '../../helpers/python-webhooks.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET, startWebhookService } from '../../helpers/webhook-service.js'

const OLD_SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

/**
 * @param {import('node:test').TestContext} t
 * @param {Parameters<typeof startWebhookService>[1]} [options]
 * @param {Record<string, string>} [env]
 */
async function start (t, options, env = {}) {
  const service = await startWebhookService(t, options)
  const gateway = await startEmbedded(t, { UPLINK_URL: service.url, UPLINK_SECRETS: SECRET, ...env })
  return { service, gateway }
}

describe('the webhook', () => {
  test('gets messages of clients as signed CloudEvents, and the client its answer', async (t) => {
    const { service, gateway } = await start(t)
    const doc = await openDocument(startClient(t, gateway.url), 'minutes', { echo: true })
    const { traceId } = await doc.send({ text: 'ü' }, { event: 'edit' })
    const message = () => service.events.find(({ operator }) => operator === 'message')
    await waitFor(message)
    const { id, time, uid, sid, sender, source, sequence, ...rest } = message()
    assert.deepEqual(rest, {
      specversion: '1.0',
      type: 'inkcast.message',
      subject: 'minutes',
      datacontenttype: 'application/json',
      operator: 'message',
      guid: 'minutes',
      event: 'edit',
      traceid: traceId,
      data: { text: 'ü' }
    })
    assert.match(uid, /^anonymous:/)
    assert.match(sender, /^[\w-]{22}$/)
    assert.match(source, /^\/inkcast\/uplink\/[0-7]$/)
    assert.match(sequence, /^\d{16}$/)
    assert.ok(id && sid && Date.parse(time) > 0)
    assert.deepEqual([service.wrong, doc.seen], [[], []])
  })

  test('gets life-cycle events of connections and documents, in their order', async (t) => {
    const { service, gateway } = await start(t, {}, { PRESENCE_GRACE: '0' })
    const client = startClient(t, gateway.url)
    await client.open('minutes')
    const operators = () => service.events.map(({ operator }) => operator)
    await waitFor(() => operators().includes('joined') && operators().includes('online'), { message: operators })
    client.close()
    await waitFor(() => ['left', 'vacated', 'offline'].every((each) => operators().includes(each)), { message: operators })
    assert.ok(operators().indexOf('joined') < operators().indexOf('left'))
  })

  test('gets the receipt of a record that asked for one', async (t) => {
    const { service, gateway } = await start(t)
    const doc = await openDocument(startClient(t, gateway.url), 'minutes')
    doc.on('asked', (_payload, _meta, acknowledge) => acknowledge?.())
    await gateway.post('/v1/documents/minutes/broadcast', 'x', { 'x-receipt': 'true', 'x-event': 'asked' })
    await waitFor(() => service.events.some(({ operator }) => operator === 'receipt'))
    const receipt = service.events.find(({ operator }) => operator === 'receipt')
    assert.deepEqual([receipt.guid, receipt.data.delivered], ['minutes', 1])
  })

  test('publishes only what the caller `webhook` of API_CALLERS_FILE may', async (t) => {
    const { path } = callersFile(t, {
      callers: [
        { name: 'editor', tokens: [{ text: '0123456789abcdef' }], operators: ['*'], operations: ['*'] },
        { name: 'webhook', operators: ['broadcast'], guids: ['notes/*'] }
      ]
    })
    const publish = [
      { guid: 'minutes', value: 1 }, { operator: 'everyone', value: 1 }, { guid: 'notes/1', value: 'allowed' }
    ]
    const { gateway } = await start(t, {
      answer: (events) => events.some(({ operator }) => operator === 'message') ? { body: { publish } } : undefined
    }, { API_CALLERS_FILE: path })
    const doc = await openDocument(startClient(t, gateway.url), 'minutes')
    await doc.send('go')
    const history = async (/** @type {string} */ guid) => (await (await fetch(
      `${gateway.apiUrl}/v1/documents/${encodeURIComponent(guid)}/history`,
      { headers: { authorization: 'Bearer 0123456789abcdef' } }
    )).json()).records
    await waitFor(async () => (await history('notes/1')).length === 1)
    const [{ value, source }] = await history('notes/1')
    assert.deepEqual([value, source], ['allowed', 'webhook'])
    assert.deepEqual(await history('minutes'), [])
    const { values } = await gateway.metrics.webhook_publications.get()
    const results = Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]))
    assert.deepEqual(results, { forbidden: 2, ok: 1 })
  })

  test('publishes with its answer, each publication once', async (t) => {
    let refusals = 2
    const { service, gateway } = await start(t, {
      answer (events) {
        const publish = events.filter(({ operator }) => operator === 'message').map(({ guid, data }) => ({
          guid, event: 'message', value: `${data} checked`
        }))
        if (publish.length === 0) return
        // the second one is not valid; the others are published nevertheless
        if (refusals-- > 0) return { status: 503 }
        const others = [{ guid: 'minutes', event: 'doc:no' }, { uid: 'nobody', operator: 'user', value: 1 }]
        return { body: { publish: [...publish, ...others] } }
      }
    })
    const doc = await openDocument(startClient(t, gateway.url), 'minutes')
    await doc.send('one')
    await doc.has('one checked')
    await doc.send('two')
    await doc.has('two checked')
    assert.deepEqual(doc.seen, ['one checked', 'two checked'])
    assert.ok(service.requests.filter(({ status }) => status === 503).length === 2)
    const { values } = await gateway.metrics.webhook_publications.get()
    const results = Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]))
    assert.deepEqual(results, { ok: 4, reserved_event: 2 })
  })

  test('gets a repeated batch under the same id, with the same events', async (t) => {
    /** @type {Map<string, string>} */
    const batches = new Map()
    let tries = 0
    const { gateway, service } = await start(t, {
      answer (events, id) {
        const text = JSON.stringify(events)
        assert.equal(batches.get(id) ?? text, text)
        batches.set(id, text)
        return ++tries % 3 === 0 ? {} : { status: 500 }
      }
    })
    const doc = await openDocument(startClient(t, gateway.url), 'minutes')
    for (let i = 0; i < 20; i++) await doc.send(i)
    const sent = () => service.events.filter(({ operator }) => operator === 'message').map(({ data }) => data)
    await waitFor(() => sent().length === 20, { timeout: 30_000, message: sent })
    assert.deepEqual(sent(), Array.from({ length: 20 }, (_, i) => i))
  })

  test('does not get again what it refuses for good; the events around it arrive', async (t) => {
    const { gateway, service } = await start(t, {
      answer: (events) => events.some(({ data }) => data === 'poison') ? { status: 422 } : {}
    })
    const doc = await openDocument(startClient(t, gateway.url), 'minutes')
    await Promise.all(['a', 'b', 'poison', 'c', 'd'].map((text) => doc.send(text)))
    const sent = () => service.events.filter(({ operator }) => operator === 'message').map(({ data }) => data)
    await waitFor(() => sent().length === 4, { timeout: 30_000, message: sent })
    assert.deepEqual(sent(), ['a', 'b', 'c', 'd'])
    assert.equal((await countedBy(gateway.metrics.webhook_events))['message refused'], 1)
  })

  test('is signed with every secret, so that they can be replaced', async (t) => {
    for (const secret of [SECRET, OLD_SECRET]) {
      const { service, gateway } = await start(t, { secret }, { UPLINK_SECRETS: `${OLD_SECRET},${SECRET}` })
      const doc = await openDocument(startClient(t, gateway.url), 'minutes')
      await doc.send('x')
      await waitFor(() => service.events.length > 0)
      assert.deepEqual(service.wrong, [])
    }
  })

  test('is verified by the library of another language', async (t) => {
    const lacking = await lacksPythonWebhooks()
    if (lacking) return t.skip(lacking)
    const { service, gateway } = await start(t, {}, { UPLINK_SECRETS: `${OLD_SECRET},${SECRET}` })
    await (await openDocument(startClient(t, gateway.url), 'minutes')).send({ text: 'ü' })
    await waitFor(() => service.events.some(({ operator }) => operator === 'message'))
    const request = /** @type {any} */ (service.raw.find(({ body }) => body.includes('inkcast.message')))
    for (const secret of [SECRET, OLD_SECRET]) assert.equal((await verifyInPython({ secret, ...request })).events, 1)
    const changed = Buffer.from(request.body.toString().replace('ü', 'u'))
    assert.match(String((await verifyInPython({ secret: SECRET, ...request, body: changed })).error), /signature/i)
  })

  test('is asked again when it says so, not earlier', async (t) => {
    /** @type {number[]} */
    const times = []
    const { gateway, service } = await start(t, {
      answer (events) {
        if (!events.some(({ operator }) => operator === 'message')) return
        times.push(performance.now())
        return times.length === 1 ? { status: 429, headers: { 'retry-after': '1' } } : {}
      }
    })
    await (await openDocument(startClient(t, gateway.url), 'minutes')).send('x')
    await waitFor(() => service.events.some(({ operator }) => operator === 'message'))
    assert.ok(times[1] - times[0] >= 990, String(times[1] - times[0]))
  })

  test('is not followed to another address', async (t) => {
    const other = await startWebhookService(t)
    const { gateway, service } = await start(t, { answer: () => ({ status: 307, headers: { location: other.url } }) })
    await (await openDocument(startClient(t, gateway.url), 'minutes')).send('x')
    await waitFor(() => service.requests.length > 1)
    assert.equal(other.requests.length, 0)
  })

  test('may be slow and large: binary values arrive as base64', async (t) => {
    const { gateway, service } = await start(t)
    const doc = await openDocument(startClient(t, gateway.url), 'minutes')
    await doc.send({ bytes: new Uint8Array([0, 255]) })
    await waitFor(() => service.events.some(({ operator }) => operator === 'message'))
    const event = service.events.find(({ operator }) => operator === 'message')
    assert.equal(event.datacontenttype, 'application/msgpack')
    assert.ok(Buffer.from(event.data_base64, 'base64').includes(255))
  })
})
