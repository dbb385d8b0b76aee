import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { Answer } from '../../../src/transport/engine/answer.js'
import { createHttpServer } from '../../../src/transport/engine/http.js'
import { createClosing } from '../../../src/transport/engine/socket-reader.js'
import { TIMES } from '../../../src/base/process/socket-times.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { framedRequests } from '../../helpers/framings.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const PATH = '/socket.io/?EIO=4&transport=polling'
const get = (/** @type {string} */ id, more = '') => `GET ${PATH}&id=${id} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
const post = (/** @type {string} */ id, /** @type {string} */ body) =>
  `POST ${PATH}&id=${id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`
/** A request in the body of a request. */
const SMUGGLED = get('smuggled')

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {{ method: string, id: string, body: string, usual: boolean, headers: object }} Seen */

/** @param {any} req @param {(body: string) => void} done */
function readBody (req, done) {
  if (req.res instanceof Answer) return done(req.body?.toString() ?? '')
  let body = ''
  req.on('data', (/** @type {Buffer} */ chunk) => { body += chunk }).on('end', () => done(body))
}

/**
 * A gateway's port with an engine that notes what it gets.
 * @param {TestContext} t
 * @param {{ takesUsual?: boolean, answer?: (res: any, seen: Seen) => void }} [options]
 */
async function start (t, { takesUsual = true, answer = (res, { id }) => res.writeHead(200).end(id) } = {}) {
  /** @type {Seen[]} */
  const seen = []
  const clock = manualClock()
  const state = { draining: false }
  const engine = /** @type {any} */ ({
    clock,
    closing: createClosing(clock),
    takesUsual,
    takeWebSocket: () => false,
    handleRequest (/** @type {any} */ req, /** @type {any} */ res) {
      const { method, url, headers } = req
      const one = { method, id: url.split('&id=')[1], body: '', usual: res instanceof Answer, headers: { ...headers } }
      seen.push(one)
      if (one.id === 'broken') throw new Error('broken')
      const done = (/** @type {string} */ body) => {
        one.body = body
        answer(res, one)
      }
      readBody(req, done)
    },
    handleUpgrade: (/** @type {any} */ _, /** @type {any} */ socket) => socket.destroy()
  })
  const server = createHttpServer({
    engine,
    socketPath: '/socket.io/',
    fallback: (_, res) => { res.writeHead(404).end() },
    isDraining: () => state.draining,
    log: recordingLog().log
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { port, seen, clock, server, drain: () => { state.draining = true } }
}

/** @param {TestContext} t @param {number} port */
async function line (t, port) {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const state = { text: '', closed: false }
  socket.setEncoding('latin1').on('data', (chunk) => { state.text += chunk })
  socket.on('error', () => {}).on('close', () => { state.closed = true })
  await once(socket, 'connect')
  return {
    socket,
    state,
    /** @param {string} bytes */
    write: (bytes) => new Promise((resolve) => { socket.write(bytes, resolve) }),
    /** @param {RegExp} pattern @returns {Promise<string>} */
    text: async (pattern) => {
      await waitFor(() => pattern.test(state.text), { message: () => `${pattern} in ${state.text}` })
      return state.text
    },
    closed: () => waitFor(() => state.closed, { message: 'the connection is not closed' })
  }
}

/** @param {TestContext} t @param {number} port @param {string[]} parts */
async function exchange (t, port, parts) {
  const { socket, state } = await line(t, port)
  for (const part of parts) {
    if (part !== '') socket.write(part)
    await new Promise(setImmediate)
  }
  // the head of an answer, or its last bytes if a next request follows
  await waitFor(() => state.closed || / [45]\d\d |\r\n\r\n[^]/.test(state.text), { message: () => `no answer to ${JSON.stringify(parts)}` })
  socket.destroy()
}

test('whatever its method and framing, the engine gets the requests that Node reads from the same bytes', async (t) => {
  const usual = await start(t)
  const nodes = await start(t, { takesUsual: false })
  const cases = framedRequests({ target: `${PATH}&id=case`, body: SMUGGLED, next: () => get('next'), methods: ['GET', 'POST', 'OPTIONS'] })
  let taken = 0
  for (const { name, parts } of cases) {
    usual.seen.length = nodes.seen.length = 0
    await Promise.all([exchange(t, usual.port, parts), exchange(t, nodes.port, parts)])
    const textOf = (/** @type {Seen} */ { method, id, body, headers }) => `${method} ${id} ${body} ${JSON.stringify(headers)}`
    // a request behind the first one need not have arrived when its client has gone
    const [first, ...others] = nodes.seen.map(textOf)
    assert.deepEqual(usual.seen.map(textOf).slice(0, 1), first === undefined ? [] : [first], name)
    for (const other of usual.seen.slice(1).map(textOf)) assert.match(other, /^GET (next|smuggled)/, name)
    assert.equal(usual.seen.some(({ id }) => id === 'smuggled') && !others.some((each) => each.startsWith('GET smuggled')), false, name)
    if (usual.seen[0]?.usual) taken++
  }
  // one in each form that is usual: a GET alone, a POST whose length is true
  assert.ok(taken >= 3, `${taken} were read without Node`)
})

test('requests follow each other on a connection, and one that comes early waits for the answer before it', async (t) => {
  /** @type {any[]} */
  const open = []
  const { port, seen } = await start(t, { answer: (res) => open.push(res) })
  const { write, text } = await line(t, port)
  await write(get('1'))
  await waitFor(() => open.length === 1, { message: 'no request' })
  await write(post('2', 'body'))
  await write('')
  assert.deepEqual(seen.map(({ id }) => id), ['1'])
  open[0].writeHead(200).end('first')
  await waitFor(() => open.length === 2, { message: 'the second request was not read' })
  open[1].writeHead(200).end('zweite Antwort: é')
  assert.match(await text(/Ã©$/), /first.*Content-Length: 18\r\n.*Connection: keep-alive.*zweite/s)
  assert.deepEqual(seen.map(({ id, body, usual }) => [id, body, usual]), [['1', '', true], ['2', 'body', true]])
})

test('a client that closes its connection, or a gateway that drains, ends it with the answer', async (t) => {
  const { port, drain } = await start(t)
  const closing = await line(t, port)
  await closing.write(get('1', 'Connection: close\r\n'))
  assert.match(await closing.text(/1$/), /Connection: close/)
  await closing.closed()
  const kept = await line(t, port)
  await kept.write(get('2'))
  await kept.text(/2$/)
  drain()
  await kept.write(get('3'))
  assert.match(await kept.text(/3$/), /keep-alive.*Connection: close/s)
  await kept.closed()
})

test('a request in another form than the one before is Node\'s, on the same connection', async (t) => {
  const { port, seen } = await start(t)
  const { write, text } = await line(t, port)
  await write(get('1'))
  await text(/1$/)
  await write(`POST ${PATH}&id=2 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`)
  await text(/\r\n2\r\n/)
  assert.deepEqual(seen.map(({ id, body, usual }) => [id, body, usual]), [['1', '', true], ['2', 'body', false]])
})

test('connections between two requests, and answers that do not come or are not read, have a deadline', async (t) => {
  /** @type {any[]} */
  const open = []
  const { port, clock, server } = await start(t, {
    answer: (res, { id }) => id === 'kept' ? res.end() : id === 'large' ? res.end('x'.repeat(2 ** 24)) : open.push(res)
  })
  const kept = await line(t, port)
  await kept.write(get('kept'))
  await kept.text(/200 OK/)
  const late = await line(t, port)
  await late.write(get('late'))
  const unread = await line(t, port)
  unread.socket.pause()
  await unread.write(get('large'))
  await waitFor(() => open.length === 1, { message: 'no request' })
  server.closeIdleConnections()
  await kept.closed()
  assert.equal(late.state.closed, false)
  const again = await line(t, port)
  await again.write(get('kept'))
  await again.text(/200 OK/)
  const passed = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
  for (let s = 0; s <= TIMES.silence / 1000 + 1; s++) clock.advance(1000)
  await late.closed()
  assert.equal(open[0].destroyed, true)
  await waitFor(async () => await passed() === 1, { message: 'the unread answer keeps its connection' })
  assert.equal(again.state.closed, false)
  for (let s = 0; s <= (TIMES.keepAlive - TIMES.silence) / 1000 + 1; s++) clock.advance(1000)
  await again.closed()
})

test('a request whose handling throws is answered with 500, and others go on', async (t) => {
  const { port } = await start(t)
  const { write, text, closed } = await line(t, port)
  await write(get('broken'))
  await text(/ 500 /)
  await closed()
  const other = await line(t, port)
  await other.write(get('1'))
  await other.text(/1$/)
})

test('answers have the headers that Node, Engine.IO and the package cors give them', async (t) => {
  const { url } = await startEmbedded(t)
  const { port, origin } = new URL(url)
  /** @param {string} head @param {string} form */
  const answerTo = async (head, form) => {
    const { write, text } = await line(t, Number(port))
    await write(`${head}Host: localhost:${port}\r\n${form}\r\n`)
    const [top, body] = (await text(/\r\n\r\n[^]/)).split('\r\n\r\n')
    const [status, ...fields] = top.split('\r\n')
    // Node's form of a length that it does not know is chunks
    const known = fields.map((field) => field.toLowerCase()).filter((field) => !/^(date|content-length|transfer-encoding):/.test(field))
    return { status, fields: known.sort(), body: /\{.*\}/.exec(body)?.[0].replace(/"sid":"[\w-]+"/, '') }
  }
  const cases = {
    open: `GET ${PATH} HTTP/1.1\r\n`,
    'open, of a page': `GET ${PATH} HTTP/1.1\r\nOrigin: ${origin}\r\n`,
    'open, of a stranger\'s page': `GET ${PATH} HTTP/1.1\r\nOrigin: https://stranger.example\r\n`,
    'unknown session': `GET ${PATH}&sid=AAAAAAAAAAAAAAAAAAAA HTTP/1.1\r\n`,
    'unknown transport': 'GET /socket.io/?EIO=4&transport=other HTTP/1.1\r\n',
    'old protocol': 'GET /socket.io/?EIO=3&transport=polling HTTP/1.1\r\n',
    JSONP: `GET ${PATH}&j=1 HTTP/1.1\r\n`
  }
  for (const [name, head] of Object.entries(cases))
    // a repeated header is left to Node
    assert.deepEqual(await answerTo(head, 'X-A: 1\r\n'), await answerTo(head, 'X-A: 1\r\nX-A: 1\r\n'), name)
})
