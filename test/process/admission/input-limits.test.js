import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import zlib from 'node:zlib'
import WebSocket from 'ws'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * Limits on clients that are not admitted, and on unfinished messages, on every transport.
 *
 * @typedef {Awaited<ReturnType<typeof startEmbedded>>} Server
 * @typedef {import('node:test').TestContext} TestContext
 */

const EARLY = 2 ** 16
const MAX = 2 ** 20 + 16_384

/** @param {Server} server */
async function figures ({ metrics }) {
  await metrics.collect()
  const bytes = (await metrics.unfinished_bytes.get()).values
  return {
    sessions: (await metrics.sessions_not_admitted.get()).values[0].value,
    early: bytes.find(({ labels }) => labels.clients === 'new')?.value ?? 0,
    late: bytes.find(({ labels }) => labels.clients === 'admitted')?.value ?? 0,
    cut: Object.fromEntries(
      (await metrics.sessions_cut.get()).values.map(({ labels, value }) => [labels.reason, value])
    )
  }
}

/** @param {Server} server @param {(now: Awaited<ReturnType<typeof figures>>) => boolean} condition */
async function becomes (server, condition) {
  /** @type {any} */
  let last
  await waitFor(async () => condition(last = await figures(server)), { message: () => last })
  return last
}

/** Sends several frames in one write. @param {WebSocket} ws @param {() => void} send */
function together (ws, send) {
  const { _socket: socket } = /** @type {any} */ (ws)
  socket.cork()
  send()
  socket.uncork()
}

/** @param {number} length @returns {string} a CONNECT packet of this size */
const connectPacket = (length) => `40{"x":"${'x'.repeat(length - 10)}"}`

/**
 * A request with an unfinished body.
 * @param {TestContext} t @param {string} address @param {number} length announced @param {string} body
 */
function unfinishedPost (t, address, length, body) {
  const { port, pathname, search } = new URL(address)
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  socket.write(`POST ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`)
  return socket
}

describe('a WebSocket', () => {
  test('may send 64 KB in a message before its client is admitted, and a record\'s worth from then on', async (t) => {
    const server = await startEmbedded(t)
    const large = await rawWebSocket(t, server.url)
    const code = once(large.ws, 'close').then(([number]) => number)
    large.send(connectPacket(EARLY + 1))
    assert.equal(await code, 1009)
    const client = await rawWebSocket(t, server.url)
    client.send(connectPacket(EARLY))
    await client.text(/^40\{/)
    client.send(`420["doc:leave",{"guid":"${'x'.repeat(MAX - 30)}"}]`)
    await client.text(/^430\[/)
    assert.equal(client.open, true)
    assert.equal((await figures(server)).sessions, 0)
  })

  test('may retry CONNECT until it has sent 128 KB', async (t) => {
    const server = await startEmbedded(t)
    const client = await rawWebSocket(t, server.url)
    client.send(...Array(3).fill(`40{"token":"x","x":"${'x'.repeat(50_000)}"}`))
    await waitFor(() => !client.open)
    assert.ok(client.received.filter((data) => /^44/.test(data.toString())).length <= 2)
    assert.equal((await figures(server)).cut.flood, 1)
  })

  test('gets pongs for some of the pings that arrive together, including the last one', async (t) => {
    const server = await startEmbedded(t)
    const client = await rawWebSocket(t, server.url)
    await client.connect()
    /** @type {string[]} */
    const pongs = []
    client.ws.on('pong', (data) => pongs.push(data.toString()))
    together(client.ws, () => { for (let i = 0; i < 1000; i++) client.ws.ping(`${i}`) })
    client.send('420["doc:leave",{"guid":"x"}]')
    await client.text(/^430/)
    assert.equal(pongs.at(-1), '999')
    // at most ten per read
    assert.ok(pongs.length < 100, `${pongs.length} pongs`)
  })

  for (const [what, flood] of /** @type {[string, (ws: WebSocket) => void][]} */ ([
    ['pings', (ws) => ws.ping()],
    ['pongs', (ws) => ws.pong()],
    ['empty fragments', (ws) => {
      ws.send('3', { fin: false })
      for (let i = 0; i < 100; i++) ws.send('', { fin: false })
      ws.send('')
    }]
  ])) {
    test(`ends when it sends too many ${what}, before it is admitted and after`, async (t) => {
      const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '10' })
      const early = await rawWebSocket(t, server.url)
      together(early.ws, () => { for (let i = 0; i < 101; i++) flood(early.ws) })
      await early.closed
      assert.equal((await figures(server)).cut.flood, 1)
      const client = await rawWebSocket(t, server.url)
      await client.connect()
      together(client.ws, () => { for (let i = 0; i < 50; i++) flood(client.ws) })
      for (let i = 0; i < 200 && client.open; i++) {
        together(client.ws, () => { for (let k = 0; k < 100; k++) flood(client.ws) })
        await new Promise((resolve) => { setImmediate(resolve) })
      }
      await client.text(/"code":"rate_limited"/)
      await client.closed
    })
  }

  test('counts an unfinished message until it is complete, or the client has disconnected', async (t) => {
    const server = await startEmbedded(t)
    const sending = await rawWebSocket(t, server.url)
    sending.ws.send('4', { fin: false })
    sending.ws.send('x'.repeat(40_000), { fin: false })
    const { early } = await becomes(server, (now) => now.early >= 40_000)
    assert.ok(early < 2 * 40_000 + 4096, `${early} bytes`)
    sending.ws.terminate()
    await becomes(server, (now) => now.early === 0 && now.sessions === 0)

    const client = await rawWebSocket(t, server.url)
    await client.connect()
    client.ws.send('420["doc:leave",{"guid":"', { fin: false })
    client.ws.send('x'.repeat(400_000), { fin: false })
    await becomes(server, (now) => now.late >= 400_000 && now.late < 1_000_000)
    client.ws.send('"}]')
    await client.text(/^430/)
    await becomes(server, (now) => now.late === 0)
    client.ws.send('x'.repeat(400_000), { fin: false })
    await becomes(server, (now) => now.late >= 400_000)
    client.ws.terminate()
    await becomes(server, (now) => now.late === 0)
  })

  test('is closed at once when its client is not admitted in 10 s', async (t) => {
    const server = await startEmbedded(t)
    const client = await rawWebSocket(t, server.url)
    server.gateway.engine.inputLimits.look(performance.now() + 10_001)
    assert.equal(server.gateway.engine.clientsCount, 0)
    await client.closed
    assert.equal((await figures(server)).cut.late, 1)
  })
})

describe('long polling', () => {
  test('may have 64 KB in a request before its client is admitted, and a record\'s worth from then on', async (t) => {
    const server = await startEmbedded(t)
    const session = await rawPolling(server.url)
    assert.equal((await session.post(connectPacket(EARLY + 1))).status, 413)
    // chunked, without a length
    const chunked = await fetch(session.address, /** @type {any} duplex: Node only */ ({
      method: 'POST',
      body: new Blob([connectPacket(EARLY + 1)]).stream(),
      duplex: 'half'
    }))
    assert.equal(chunked.status, 413)
    assert.deepEqual(await session.post(connectPacket(EARLY)), { status: 200, text: 'ok' })
    assert.ok(await session.until(/40\{"sid"/))
    assert.equal((await session.post(`420["doc:leave",{"guid":"${'é'.repeat((MAX - 30) / 2)}"}]`)).status, 200)
    assert.ok(await session.until(/430\[/))
    assert.equal((await session.post('x'.repeat(MAX + 1))).status, 413)
  })

  test('counts unfinished request headers and bodies', async (t) => {
    const server = await startEmbedded(t)
    const headers = { 'x-filler': 'x'.repeat(10_000) }
    const begin = await (await fetch(`${server.url}/socket.io/?EIO=4&transport=polling`, { headers })).text()
    const { early } = await figures(server)
    assert.ok(early > 10_000 && early < 11_000, `${early} bytes`)
    const address = `${server.url}/socket.io/?EIO=4&transport=polling&sid=${JSON.parse(begin.slice(1)).sid}`
    const poll = fetch(address, { headers })
    await becomes(server, (now) => now.early > 20_000)
    const post = unfinishedPost(t, address, 50_000, `40{"x":"${'x'.repeat(30_000)}`)
    await becomes(server, (now) => now.early > 50_000 && now.early < 85_000)
    post.write(`${'x'.repeat(50_000 - 30_008 - 2)}"}`)
    assert.match(await (await poll).text(), /40\{"sid"/)
    assert.deepEqual(await figures(server).then(({ early, late, sessions }) => [early, late, sessions]), [0, 0, 0])
    const large = unfinishedPost(t, address, MAX, 'x'.repeat(500_000))
    await becomes(server, (now) => now.late >= 500_000 && now.late <= MAX)
    large.destroy()
    await becomes(server, (now) => now.late === 0)
  })

  test('keeps only the part of its first request that applications use', async (t) => {
    const server = await startEmbedded(t)
    await fetch(`${server.url}/socket.io/?EIO=4&transport=polling&mine=1`, { headers: { 'x-mine': 'yes' } })
    const [{ request }] = /** @type {any[]} */ (server.gateway.engine.sessions())
    assert.ok(!('rawHeaders' in Object.getOwnPropertyDescriptors(request)) && !('_readableState' in request))
    assert.deepEqual(
      [request.method, request._query.mine, request.headers['x-mine'], request.socket.remoteAddress],
      ['GET', '1', 'yes', '127.0.0.1']
    )
  })

  test('ends at once when its client is not admitted in 10 s, without waiting for a close', async (t) => {
    const server = await startEmbedded(t)
    const { engine } = server.gateway
    const [polled, closing] = [await rawPolling(server.url), await rawPolling(server.url)]
    const poll = polled.poll()
    await closing.post('4x') // invalid packet: Engine.IO waits for one more poll before it ends the session
    await waitFor(
      () => engine.sessions().length < 2 || engine.sessions().some(({ readyState }) => readyState === 'closing')
    )
    const { sessions } = await figures(server)
    engine.inputLimits.look(performance.now() + 10_001)
    assert.deepEqual([engine.clientsCount, (await figures(server)).sessions], [0, 0])
    assert.ok(sessions >= 1)
    assert.ok([200, 400].includes((await poll).status))
  })
})

describe('sessions whose clients are not admitted', () => {
  test('are closed for newer ones when there are too many, but never those of admitted clients', async (t) => {
    const server = await startEmbedded(t, { MAX_HANDSHAKES_PER_SECOND: '10' })
    const client = await connectClient(t, server.url)
    const first = await rawWebSocket(t, server.url)
    for (let i = 0; i < 20; i++) await rawPolling(server.url)
    await first.closed
    const { sessions, cut } = await figures(server)
    assert.deepEqual([sessions, cut.sessions], [20, 1])
    assert.equal(client.connected, true)
  })

  test('end with the first namespace of an extension, where the same rates hold', async (t) => {
    const { clock } = holdTime(t)
    const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '10' }, undefined, { clock })
    const { io, engine } = server.gateway
    /** @type {unknown[]} */
    const heard = []
    io.of('/extension').on('connection', (socket) => { socket.on('say', (what) => heard.push(what)) })
    const client = await rawWebSocket(t, server.url)
    client.send('40/extension,')
    await client.text(/^40\/extension,\{/)
    assert.equal((await figures(server)).sessions, 0)
    engine.inputLimits.look(performance.now() + 60_000)
    for (let i = 0; i < 200; i++) client.send(`42/extension,${i}["say",${i}]`)
    assert.match(String(await client.text(/^43\/extension,199\[/)), /"code":"rate_limited"/)
    assert.ok(heard.length >= 20 && heard.length < 200, `${heard.length} events`)
    for (let i = 0; i < 200 && client.open; i++) {
      for (let k = 0; k < 100; k++) client.send('42/extension,["say",1]')
      await new Promise((resolve) => { setImmediate(resolve) })
    }
    await client.closed
  })
})

describe('compressed messages', () => {
  /** @param {TestContext} t @param {string} url */
  async function compressing (t, url) {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`, {
      perMessageDeflate: { threshold: 1 }
    })
    t.after(() => ws.terminate())
    ws.on('error', () => {})
    /** @type {string[]} */
    const received = []
    ws.on('message', (data) => received.push(String(data)))
    await once(ws, 'open')
    return { ws, received, closed: once(ws, 'close').then(([code]) => code) }
  }

  test('are limited by their inflated size, which counts', async (t) => {
    const server = await startEmbedded(t, { COMPRESS_FROM: '1000' })
    const bomb = await compressing(t, server.url)
    bomb.ws.send(connectPacket(EARLY + 1))
    assert.equal(await bomb.closed, 1009)
    const many = await compressing(t, server.url)
    for (let i = 0; i < 3; i++) many.ws.send(`3${'x'.repeat(EARLY - 10)}`)
    await many.closed
    assert.equal((await figures(server)).cut.flood, 1)
    const fragments = await compressing(t, server.url)
    fragments.ws.send('3', { fin: false })
    fragments.ws.send('x'.repeat(40_000), { fin: false })
    fragments.ws.send('x'.repeat(40_000))
    assert.equal(await fragments.closed, 1009)

    const client = await compressing(t, server.url)
    client.ws.send('40')
    await waitFor(() => client.received.length === 2)
    client.ws.send(`420["doc:leave",{"guid":"${'x'.repeat(MAX - 30)}"}]`)
    await waitFor(() => client.received.some((text) => text.startsWith('430')))
    for (let i = 0; i < 20; i++) client.ws.send(`3${'x'.repeat(MAX - 10)}`)
    await client.closed
    assert.ok(client.received.some((text) => text.includes('rate_limited')), client.received.join())
    assert.ok(zlib.deflateRawSync('x'.repeat(MAX)).length < 2000, 'while little was sent')
  })
})
