import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import * as inkcast from '../../../src/operate/roles/demo-parts.js'
import { createDocuments } from '../../../packages/demo/documents/documents.js'
import { createDocumentsRoute, documentsInLauncher } from '../../../packages/demo/documents/in-launcher.js'
import { createDocumentsUplink } from '../../../packages/demo/documents/uplink.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** @typedef {import('../../../packages/demo/documents/documents.js').PageMessage} PageMessage */

/** @param {import('node:test').TestContext} t */
function makeDirectory (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'inkcast-documents-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} directory
 * @param {import('../../../packages/demo/documents/documents.js').Documents} documents
 */
async function serve (t, directory, documents) {
  const server = createServer(createDocumentsRoute(inkcast, documents, recordingLog().log))
  server.listen(inkcast.demoSocket(directory))
  await once(server, 'listening')
  t.after(() => server.close())
}

/** @param {number} number @param {string} [guid] @returns {PageMessage} */
const message = (number, guid = 'demo') => ({
  guid, event: 'sheet:edit', uid: 'ada', sid: 'sid', traceId: String(number), timestamp: number,
  contentType: 'application/json', value: Buffer.from(String(number))
})

test('messages of a worker reach the launcher in the order of their document, in one request at a time', async (t) => {
  const directory = makeDirectory(t)
  /** @type {Record<string, string[][]>} */
  const batches = { demo: [], other: [] }
  let atOnce = 0
  let most = 0
  await serve(t, directory, {
    async receive (messages) {
      const [{ guid }] = messages
      if (guid === 'demo') most = Math.max(most, ++atOnce)
      batches[guid].push(messages.map(({ value }) => Buffer.from(value).toString()))
      await new Promise(setImmediate)
      if (guid === 'demo') atOnce--
    },
    load: async (guid) => ({ document: { guid }, position: null })
  })
  const documents = documentsInLauncher(inkcast, directory)
  const numbers = Array.from({ length: 50 }, (_, i) => i)
  await Promise.all(numbers.flatMap((i) => [documents.receive([message(i)]), documents.receive([message(i, 'other')])]))
  for (const guid of ['demo', 'other']) assert.deepEqual(batches[guid].flat(), numbers.map(String))
  assert.equal(most, 1)
  assert.ok(batches.demo.length < numbers.length, 'messages that wait share a request')
  assert.deepEqual(await documents.load('demo'), { document: { guid: 'demo' }, position: null })
})

test('without a launcher a message is refused, and the next one is sent again', async (t) => {
  const directory = makeDirectory(t)
  const documents = documentsInLauncher(inkcast, directory)
  const refused = { code: 'unavailable', retryable: true }
  await Promise.all([1, 2].map((i) => assert.rejects(documents.receive([message(i)]), refused)))
  await assert.rejects(documents.load('demo'), refused)
  /** @type {PageMessage[]} */
  const received = []
  await serve(t, directory, {
    receive: async (messages) => { received.push(...messages) }, load: async () => ({ document: {}, position: null })
  })
  await documents.receive([message(3)])
  assert.deepEqual(received.map(({ timestamp }) => timestamp), [3])
})

test('an edit whose answer came too late is sent again, and applied once', async (t) => {
  let published = 0
  const api = createServer((_req, res) => {
    published++
    res.writeHead(202, { 'content-type': 'application/json' }).end('{"ok":true}')
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => {
    api.close()
    api.closeAllConnections()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (api.address())
  const kept = createDocuments(inkcast, { apiUrl: () => `http://127.0.0.1:${port}`, log: recordingLog().log, random: systemRandom })
  t.after(() => kept.stop())
  let late = true
  const uplink = createDocumentsUplink(inkcast, {
    uplink: /** @type {any} */ ({}),
    documents: {
      ...kept,
      async receive (messages) {
        await kept.receive(messages)
        if (late) throw new Error('too late')
      }
    },
    bus: { queuedUpTo: async () => 0, noteQueued: async () => {} }
  })
  const value = Buffer.from(JSON.stringify({ id: 'one', cells: { A7: 'once' } }))
  /** @type {import('../../../src/log/publish/uplink.js').UplinkRecord} */
  const record = {
    operator: 'message', guid: 'demo', event: 'sheet:edit', uid: 'ada', sid: 'sid', traceId: 't', timestamp: 1,
    contentType: 'application/json', value, queue: { id: 'q', number: 1, uid: 'ada' }
  }
  await assert.rejects(uplink.send(record), /too late/)
  late = false
  assert.deepEqual(await uplink.send(record), { duplicate: false })
  assert.equal(published, 1)
})
