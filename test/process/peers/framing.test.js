import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { MisroutedRequests } from '../../../src/transport/peers/misrouted-requests.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createSessionIds } from '../../../src/wire/session-id.js'
import { framedRequests } from '../../helpers/framings.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const OWNER = 7
const newSid = createSessionIds(OWNER, { clock: systemClock, random: systemRandom })
/** A request in the body of a request. */
const SMUGGLED = 'PUT /smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {{ method?: string, id: string, body: string }} Seen */

const idOf = (/** @type {http.IncomingMessage} */ { url, headers }) => url?.split('&id=')[1] ?? String(headers['x-id'])

/** @param {TestContext} t @param {http.Server} server @param {string | number} at */
async function listen (t, server, at) {
  if (typeof at === 'number') server.listen(at, '127.0.0.1')
  else server.listen(at)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
}

/**
 * A worker that forwards every request, and the owner, which notes what it gets.
 * @param {TestContext} t
 * @param {(req: http.IncomingMessage, res: http.ServerResponse, id: string) => void} [answer] of the owner
 */
async function startPair (t, answer) {
  const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-framing-'))
  t.after(() => rmSync(folder, { recursive: true }))
  /** @type {{ at: Seen[], sockets: Set<unknown> }} */
  const owner = { at: [], sockets: new Set() }
  /** @type {Seen[]} */
  const asked = []
  const ownerServer = http.createServer((req, res) => {
    owner.sockets.add(req.socket)
    const seen = { method: req.method, id: idOf(req), body: '' }
    owner.at.push(seen)
    if (answer !== undefined) return answer(req, res, seen.id)
    req.on('data', (chunk) => { seen.body += chunk }).on('end', () => res.end(seen.id))
  })
  await listen(t, ownerServer, path.join(folder, 'owner'))
  const misrouted = new MisroutedRequests({
    workerNumber: 1,
    findRoute: async () => ({ handover: false, listener: { path: path.join(folder, 'owner') } }),
    secret: () => 'secret',
    metrics: createMetrics({ processMetrics: false }),
    log: recordingLog().log,
    clock: manualClock()
  })
  t.after(() => misrouted.stop())
  const worker = http.createServer((req, res) => {
    const seen = { method: req.method, id: idOf(req), body: '' }
    asked.push(seen)
    // without making it flow
    const push = req.push.bind(req)
    req.push = (chunk, encoding) => {
      seen.body += chunk ?? ''
      return push(chunk, encoding)
    }
    misrouted.request(newSid(), req, res)
  })
  await listen(t, worker, 0)
  const { port } = /** @type {import('node:net').AddressInfo} */ (worker.address())
  return { port, owner, asked }
}

/**
 * @param {number} port
 * @param {string[]} parts packets
 * @param {(text: string) => boolean} isOver
 */
async function send (port, parts, isOver) {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let text = ''
  let late = false
  socket.setTimeout(10_000, () => {
    late = true
    socket.destroy()
  })
  socket.once('connect', async () => {
    for (const part of parts) {
      socket.write(part)
      await new Promise(setImmediate)
    }
  })
  try {
    for await (const chunk of socket) {
      text += chunk
      if (isOver(text)) break
    }
  } catch {
    // closed by the server while bytes were on their way
  }
  assert.ok(!late, `no answer to ${JSON.stringify(parts)}`)
  return text
}

const count = (/** @type {string[]} */ all, /** @type {string} */ one) => all.filter((id) => id === one).length
const textOf = (/** @type {Seen} */ { method, id, body }) => `${method} ${id} ${body}`
const get = (/** @type {string} */ id) => `GET /?s&id=${id} HTTP/1.1\r\nHost: localhost\r\n\r\n`

test('whatever its method and framing, a request that is forwarded is one request at the owner', async (t) => {
  const { port, owner, asked } = await startPair(t)
  const cases = framedRequests({ target: '/?s&id=case', body: SMUGGLED, next: () => get('next') })
  for (const { name, parts } of cases) {
    asked.length = owner.at.length = 0
    // the head of an answer: bytes that are no request close the connection
    const text = await send(port, parts, (text) => / 4\d\d |\r\n\r\n[^]/.test(text) || (name.startsWith('HEAD') && text !== ''))
    const broken = name.endsWith('followed') || / 400 /.test(text)
    assert.ok((await send(port, [get('other')], (text) => text.includes('other'))).endsWith('other'), `${name}: ${text}`)
    const ids = (/** @type {Seen[]} */ all) => all.map(({ id }) => id)
    // one that breaks off, or whose client goes, need not arrive
    for (const id of ids(owner.at)) assert.equal(count(ids(owner.at), id), count(ids(asked), id), `${name}: ${id}`)
    // pipelined ones take two connections and may change places
    if (!broken) assert.deepEqual(owner.at.map(textOf).sort(), asked.map(textOf).sort(), name)
  }
  t.diagnostic(`${cases.length} requests over ${owner.sockets.size} connections`)
})

/** An answer that nobody asked for. */
const POISON = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison'

for (const when of ['with', 'after']) {
  test(`bytes that an owner sends ${when} an answer end its connection and are no answer to the next request`, async (t) => {
    /** @type {import('node:net').Socket | null} */
    let last = null
    const { port, owner } = await startPair(t, (_req, res, id) => {
      last = res.socket
      res.end(id)
      if (when === 'with') last?.write(POISON)
    })
    for (const id of ['1', '2', '3', '4', '5']) {
      const text = await send(port, [get(id)], (text) => text.includes('\r\n\r\n'))
      assert.ok(text.endsWith(`\r\n\r\n${id}`), text)
      if (when === 'after') await new Promise((resolve) => last?.write(POISON, resolve))
    }
    assert.equal(owner.sockets.size, 5, 'no connection was used again')
  })
}

test('a body that its owner does not wait for leaves client and owner in step', async (t) => {
  const { port, owner } = await startPair(t, (req, res, id) => {
    req.resume()
    res.writeHead(413).end(id)
  })
  const body = SMUGGLED.repeat(10_000)
  const head = (/** @type {string} */ id) => `POST /?s&id=${id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`
  const parts = ['a', 'b', 'c'].flatMap((id) => [head(id), ...Array.from({ length: 10 }, (_, i) =>
    body.slice(i * body.length / 10, (i + 1) * body.length / 10)
  )])
  const text = await send(port, parts, (text) => text.split(' 413 ').length === 4)
  assert.deepEqual(text.match(/ \d{3} /g), [' 413 ', ' 413 ', ' 413 '])
  assert.deepEqual(owner.at.map(({ id }) => id), ['a', 'b', 'c'])
})
