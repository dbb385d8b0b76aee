import assert from 'node:assert/strict'
import { appendFile, readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { decode, encode } from '@msgpack/msgpack'
import * as Y from 'yjs'
import { decodeFile } from '../../../packages/yjs-server/frames.js'
import { seededRandom } from '../../helpers/random.js'
import { waitFor } from '../../helpers/wait.js'
import { askYjsService, startYjsService } from '../../helpers/yjs-service.js'
import { freePort } from '../../services/ports.js'

const KILLS = 8
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
const GUIDS = ['one', 'two']

/** Stands for the gateway's api: logs in memory. A cut has to be behind what the disk has. */
class Gateway {
  /** @type {Map<string, { offset: number, event: string, valueBase64: string, key: string }[]>} */
  #logs = new Map(GUIDS.map((guid) => [guid, []]))
  /** @type {Map<string, number>} */
  #cutAt = new Map()
  /** @type {string[]} */
  wrong = []
  cuts = 0
  directory = ''

  /** @param {import('node:test').TestContext} t */
  async start (t) {
    const server = createServer((request, response) => {
      this.#answer(request).then((body) => response.end(JSON.stringify(body)), (error) => {
        this.wrong.push(String(error.stack))
        response.writeHead(500).end('{}')
      })
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
  }

  /** @param {any[]} publications once each, by their key */
  publish (publications) {
    for (const { guid, event, valueBase64, idempotencyKey: key } of publications) {
      const log = /** @type {any[]} */ (this.#logs.get(guid))
      if (!log.some((record) => record.key === key)) log.push({ offset: log.length + 1, event, valueBase64, key })
    }
  }

  /** @param {import('node:http').IncomingMessage} request */
  async #answer (request) {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://here')
    const [, guid, operation] = /** @type {RegExpExecArray} */ (/^\/v1\/documents\/(\w+)\/(\w+)$/.exec(pathname))
    const log = this.#logs.get(guid) ?? []
    const position = log.length === 0 ? null : { epoch: 'e', offset: log.length }
    if (operation === 'position') return { position }
    if (operation === 'history') {
      const since = searchParams.has('offset') ? Number(searchParams.get('offset')) : 0
      const isCut = since < (this.#cutAt.get(guid) ?? 0)
      return { position, gap: isCut ? 'trimmed' : null, records: isCut ? [] : log.slice(since) }
    }
    let body = ''
    for await (const chunk of request) body += chunk
    if (operation !== 'cut') return { ok: true }
    const { offset } = JSON.parse(body)
    const missing = await this.#notStored(guid, log.slice(0, offset))
    if (missing.length > 0) this.wrong.push(`${guid} is cut at ${offset}, and the disk lacks ${missing}`)
    this.#cutAt.set(guid, offset)
    this.cuts++
    return { ok: true, position, removed: 0 }
  }

  /** @param {string} guid @param {{ offset: number, valueBase64: string }[]} records */
  async #notStored (guid, records) {
    const doc = new Y.Doc()
    for (const name of await readdir(this.directory)) {
      if (!name.endsWith('.yjs')) continue
      const { header, frames } = decodeFile(await readFile(join(this.directory, name)))
      if (header.guid === guid) for (const { kind, payload } of frames) if (kind === 1) Y.applyUpdate(doc, payload)
    }
    return records.filter(({ valueBase64 }) => {
      let isNew = false
      doc.once('afterTransaction', ({ afterState, beforeState }) => {
        isNew = [...afterState].some(([client, clock]) => clock > (beforeState.get(client) ?? 0))
      })
      Y.applyUpdate(doc, /** @type {Uint8Array} */ (decode(Buffer.from(valueBase64, 'base64'))))
      return isNew
    }).map(({ offset }) => offset)
  }
}

test(`a service that is killed ${KILLS} times loses nothing that it has confirmed (SEED=${SEED})`, async (t) => {
  const random = seededRandom(SEED)
  const gateway = new Gateway()
  const [apiUrl, port] = [await gateway.start(t), await freePort()]
  const service = await startYjsService(t, { apiUrl, port, args: ['--interval', '10'] })
  gateway.directory = service.directory
  let [isDone, hasEnded] = [false, false]
  t.after(() => { isDone = hasEnded = true })
  /** Confirmed text by document. @type {Map<string, string>} */
  const confirmed = new Map(GUIDS.map((guid) => [guid, '']))

  /** Sends as the gateway does: one batch at a time, again until it is confirmed. @param {string} guid */
  async function write (guid) {
    const doc = new Y.Doc()
    const text = doc.getText('text')
    let number = 0
    while (!isDone) {
      const events = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
        /** @type {Uint8Array[]} */
        const updates = []
        doc.once('update', (update) => updates.push(update))
        text.insert(text.length, `${number} ${'x'.repeat(random() * 3000)}`)
        return {
          operator: 'message', guid, sid: 's', event: 'yjs', id: `${guid}-${number++}`, time: '2026-11-23T08:00:00.000Z',
          datacontenttype: 'application/msgpack', data_base64: Buffer.from(encode(updates[0])).toString('base64')
        }
      })
      while (!hasEnded) {
        const answer = await askYjsService(`${service.url}/events`, events).catch(() => null)
        const body = /** @type {any} */ (await answer?.json().catch(() => null))
        if (answer?.ok && body !== null) {
          confirmed.set(guid, text.toString())
          gateway.publish(body.publish)
          break
        }
        await delay(20)
      }
    }
  }

  const writers = GUIDS.map(write)
  for (let kill = 0; kill < KILLS; kill++) {
    const cuts = gateway.cuts
    await delay(random() * 150)
    if (kill % 3 === 0) await waitFor(() => gateway.cuts > cuts, { timeout: 20_000, message: () => service.output() })
    await service.stop('SIGKILL')
    // a write that a failing machine did not finish
    for (const name of await readdir(service.directory)) {
      if (!name.endsWith('.yjs') || random() < 0.5) continue
      const path = join(service.directory, name)
      const content = await readFile(path)
      await appendFile(path, content.subarray(content.indexOf('\n') + 1).subarray(0, random() * 12))
    }
    const before = new Map(confirmed)
    await service.start()
    for (const [guid, text] of before) {
      const stored = await service.text(guid)
      assert.ok(stored.startsWith(text), `${guid} after kill ${kill}: ${stored.length} of ${text.length} characters`)
    }
  }
  isDone = true
  await Promise.all(writers)
  for (const [guid, text] of confirmed) assert.equal(await service.text(guid), text)
  assert.deepEqual(gateway.wrong, [])
})
