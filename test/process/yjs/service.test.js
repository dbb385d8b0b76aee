import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { InkcastProvider } from 'inkcast-yjs'
import msgpackParser from 'socket.io-msgpack-parser'
import * as Y from 'yjs'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { waitFor } from '../../helpers/wait.js'
import { startYjsService, yjsGateway } from '../../helpers/yjs-service.js'

const TIMEOUT = { timeout: 20_000 }

/** Rules of a product. */
const HOOK = `export default ({ guid, update }) => {
  if (guid === 'ruled' && Buffer.from(update).includes('forbidden')) return 'a word is forbidden'
}`

describe('inkcast-yjs-server', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let gateway
  /** @type {Awaited<ReturnType<typeof startYjsService>>} */
  let service
  before(async () => {
    const { port, env } = await yjsGateway()
    const folder = mkdtempSync(join(tmpdir(), 'inkcast-yjs-hook-'))
    scope.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'rules.mjs'), HOOK)
    gateway = await startEmbedded(scope, { LOG_LEVEL: 'silent', ...env })
    service = await startYjsService(scope, { apiUrl: gateway.apiUrl, port, args: ['--hook', join(folder, 'rules.mjs')] })
  })

  /** @param {import('node:test').TestContext} t */
  function start (t) {
    let number = 0

    /**
     * A page of its own.
     * @param {string} guid
     * @param {Y.Doc} [doc]
     * @param {import('inkcast-client').ClientOptions & Partial<import('inkcast-yjs').Options>} [options]
     */
    async function open (guid, doc = new Y.Doc(), { parser, outbox, ...options } = {}) {
      const client = startClient(t, gateway.url, { ...parser && { parser }, ...outbox && { outbox } })
      const provider = new InkcastProvider(client, guid, doc, options)
      t.after(() => provider.destroy())
      provider.awareness.setLocalStateField('user', { name: `page ${++number}` })
      /** @type {any[]} */
      const errors = []
      provider.on('error', (error) => errors.push(error))
      await provider.whenSynced
      const text = doc.getText('text')
      return {
        client, provider, doc, text, errors,
        /** @param {string} content */
        type (content) { for (const character of content) text.insert(text.length, character) },
        /** @param {string} content */
        has: (content) => waitFor(() => text.toString() === content, {
          ...TIMEOUT, message: () => `${content}; it is ${text}; ${errors}; ${service.output()}`
        })
      }
    }
    /** @param {string} guid */
    const history = async (guid) => {
      const answer = await fetch(`${gateway.apiUrl}/v1/documents/${guid}/history?limit=1000`)
      return /** @type {any} */ (await answer.json())
    }
    return { open, history }
  }

  test('merges what pages type, stores it with its position, cuts the log, and continues after a kill', async (t) => {
    const { open, history } = start(t)
    const ada = await open('minutes')
    const grace = await open('minutes', new Y.Doc(), { parser: msgpackParser })
    ada.type('from Ada, ')
    await grace.has('from Ada, ')
    grace.type('from Grace, ')
    await ada.has('from Ada, from Grace, ')
    await waitFor(async () => (await history('minutes')).records.length === 0, {
      ...TIMEOUT, message: () => `the log to be cut; ${service.output()}`
    })
    await service.stop('SIGKILL')
    ada.type('while it was down')
    await waitFor(() => !ada.provider.unsent, { ...TIMEOUT, message: 'the gateway to keep it' })
    await service.start()
    await grace.has('from Ada, from Grace, while it was down')
    const alan = await open('minutes')
    assert.equal(alan.text.toString(), 'from Ada, from Grace, while it was down')
    assert.equal(await service.text('minutes'), 'from Ada, from Grace, while it was down')
    assert.deepEqual([ada.errors, grace.errors, alan.errors], [[], [], []])
  })

  test('a page that was offline while the log was cut loads the document again, and sends its edits', async (t) => {
    const { open, history } = start(t)
    const [ada, grace] = [await open('offline'), await open('offline')]
    ada.client.drop(1500)
    ada.type('offline ')
    assert.equal(ada.provider.unsent, true)
    grace.type('online ')
    await waitFor(async () => (await history('offline')).records.length === 0, {
      ...TIMEOUT, message: () => `the log to be cut; ${service.output()}`
    })
    await waitFor(() => grace.text.length === 15 && !ada.provider.unsent, {
      ...TIMEOUT, message: () => `${grace.text} ${ada.text}`
    })
    await ada.has(grace.text.toString())
    await waitFor(async () => await service.text('offline') === ada.text.toString(), TIMEOUT)
  })

  test('edits of an earlier session are sent when the document is opened, and only those', async (t) => {
    const { open, history } = start(t)
    const [first, other] = [await open('session'), await open('session')]
    first.type('known ')
    await other.has('known ')
    first.provider.destroy()
    const stored = Y.encodeStateAsUpdate(first.doc)

    const again = new Y.Doc()
    Y.applyUpdate(again, stored)
    const { position } = await history('session')
    const second = await open('session', again)
    await waitFor(() => !second.provider.unsent, TIMEOUT)
    assert.equal((await history('session')).position.offset, position.offset, 'there is nothing to send')
    second.provider.destroy()

    again.getText('text').insert(6, 'new')
    again.getText('text').delete(0, 1)
    const third = await open('session', again)
    await waitFor(() => !third.provider.unsent, TIMEOUT)
    await waitFor(async () => await service.text('session') === 'nown new', TIMEOUT)
    assert.equal((await history('session')).position.offset, position.offset + 1)
  })

  test('with an outbox, edits without a connection are queued as a few records, and arrive', async (t) => {
    const { open } = start(t)
    const ada = await open('queued', new Y.Doc(), { outbox: { user: 'ada' }, queue: true })
    const grace = await open('queued')
    const dropped = performance.now()
    ada.client.drop(60_000)
    for (let i = 0; i < 100; i++) {
      ada.type('x')
      await delay(15)
    }
    const { pending } = /** @type {NonNullable<typeof ada.provider.document>} */ (ada.provider.document)
    // one a second
    const most = Math.floor((performance.now() - dropped) / 1000) + 2
    assert.ok(pending.length >= 1 && pending.length <= most, `records: ${pending.length}, not 1 to ${most}`)
    ada.client.connect()
    await grace.has('x'.repeat(100))
    await waitFor(() => !ada.provider.unsent && ada.provider.document?.pending.length === 0, TIMEOUT)
    assert.equal(await service.text('queued'), 'x'.repeat(100))
  })

  test('an update above the record limit goes to the service, and reaches the others', async (t) => {
    const { open, history } = start(t)
    const [ada, grace] = [await open('large'), await open('large')]
    const large = 'x'.repeat(3_000_000)
    ada.text.insert(0, large)
    ada.type('!')
    await waitFor(() => grace.text.length === large.length + 1, { ...TIMEOUT, message: () => service.output() })
    assert.deepEqual([ada.errors, grace.errors], [[], []])
    assert.equal((await service.text('large')).length, large.length + 1)
    const { records } = await history('large')
    assert.ok(JSON.stringify(records).length < 10_000, 'no record has the large update')
  })

  test('an update that the hook refuses reaches no other page, and its page stops', async (t) => {
    const { open } = start(t)
    const [ada, grace] = [await open('ruled'), await open('ruled')]
    ada.type('fine')
    await grace.has('fine')
    ada.text.insert(0, 'forbidden ')
    await waitFor(() => ada.errors.length === 1 && ada.provider.status === 'disconnected', TIMEOUT)
    assert.deepEqual([ada.errors[0].code, ada.errors[0].message], ['update_refused', 'a word is forbidden'])
    grace.type('!')
    const again = await open('ruled')
    await again.has('fine!')
    await grace.has('fine!')
  })

  test('strangers get nothing: a signature is needed, and for a page the right to read', async (t) => {
    const { open } = start(t)
    const answer = await fetch(`${service.url}/load`, { method: 'POST', body: '{"guid":"minutes"}' })
    assert.equal(answer.status, 401)
    const { client } = await open('own')
    const { error } = await client.socket.timeout(30_000).emitWithAck('yjs:load', { guid: 'minutes' })
    assert.equal(error.code, 'not_joined')
  })

  test('pages see each other: who at once, cursors as they move, and goodbye', async (t) => {
    const { open } = start(t)
    const [ada, grace] = [await open('aware'), await open('aware')]
    /** @param {typeof ada} page */
    const others = ({ provider: { awareness } }) =>
      [...awareness.getStates()].filter(([client]) => client !== awareness.clientID).map(([, state]) => state)
    await waitFor(() => others(grace)[0]?.user.name === 'page 1' && others(ada)[0]?.user.name === 'page 2', TIMEOUT)
    ada.provider.awareness.setLocalStateField('cursor', { at: 1 })
    await waitFor(() => others(grace)[0]?.cursor?.at === 1, { ...TIMEOUT, message: () => others(grace) })
    const alan = await open('aware')
    await waitFor(() => others(alan).some((state) => state.cursor?.at === 1), TIMEOUT)
    assert.equal(others(alan).length, 2)
    grace.provider.destroy()
    await waitFor(() => others(alan).length === 1 && others(ada).length === 1, TIMEOUT)
    ada.client.drop(100)
    await waitFor(() => ada.client.state === 'connected' && ada.provider.synced, TIMEOUT)
    ada.provider.awareness.setLocalStateField('cursor', { at: 2 })
    await waitFor(() => others(alan)[0]?.cursor.at === 2 && others(ada)[0]?.user.name === 'page 3', TIMEOUT)
  })

  // last: the gateway ends
  test('documents are there after a restart of everything, with a log that is lost', async (t) => {
    const ada = await start(t).open('restart')
    ada.type('kept')
    await waitFor(async () => await service.text('restart') === 'kept', TIMEOUT)
    ada.client.close()
    await service.stop()
    await gateway.stop()
    const { port, env } = await yjsGateway()
    gateway = await startEmbedded(t, { LOG_LEVEL: 'silent', ...env })
    service = await startYjsService(t, { apiUrl: gateway.apiUrl, port, directory: service.directory })
    const { open } = start(t)
    const [grace, alan] = [await open('restart'), await open('restart')]
    assert.equal(grace.text.toString(), 'kept')
    grace.type(' on')
    await alan.has('kept on')
    await waitFor(async () => await service.text('restart') === 'kept on', TIMEOUT)
  })
})
