import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startApi } from '../../helpers/api.js'
import { publicationWith } from '../../helpers/publication.js'
import { waitFor } from '../../helpers/wait.js'

/** @typedef {import('../../../src/log/bus/contract.js').BusRecord} BusRecord */

const TOKENS = ['reader:reader-token-of-a-test', 'editor:editor-token-of-a-test']
const READER = 'authorization: Bearer reader-token-of-a-test'

/** @param {import('node:test').TestContext} t @param {string} url */
function lineTo (t, url) {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  return socket
}

/** @param {string} method @param {string} path @param {string[]} [headers] */
const request = (method, path, headers = []) =>
  [`${method} ${path} HTTP/1.1`, 'host: api', ...headers, '', ''].join('\r\n')

/** A log of 20 records of 400 KB. */
function largeLog () {
  const value = Buffer.from(JSON.stringify('x'.repeat(400_000)))
  const epoch = 'e'
  const records = Array.from({ length: 20 }, (_, i) => /** @type {BusRecord} */ ({
    epoch, offset: i + 1, publication: publicationWith({ value }), ingestedAt: 0
  }))
  const position = { epoch, offset: records.length }
  return {
    positions: async (/** @type {readonly string[]} */ guids) => guids.map(() => position),
    /** @param {string} _guid @param {{ offset: number }} since @param {number} limit */
    history: async (_guid, { offset }, limit) =>
      ({ position, gap: null, records: records.slice(offset, offset + limit) }),
    cut: async () => null
  }
}

for (const path of [
  '/v1/documents/a/history', '/v1/documents/a/history?epoch=e&offset=0', '/v1/users/a/history',
  '/v1/users/a/history?epoch=e&offset=0'
]) {
  test(`answers that a caller does not read are bounded, and others are served: ${path}`, async (t) => {
    const api = await startApi(t, { tokens: TOKENS, bus: /** @type {any} */ (largeLog()) })
    const sockets = Array.from({ length: 20 }, () => lineTo(t, api.url))
    const statuses = await Promise.all(sockets.map(async (socket) => {
      socket.write(request('GET', path, [READER]))
      const [chunk] = await once(socket, 'data')
      socket.pause()
      return chunk.toString('latin1', 9, 12)
    }))
    // half of 64 MB, of which an answer has 8
    const answered = statuses.filter((status) => status === '200').length
    assert.ok(answered >= 1 && answered <= 6, `${answered} of 20 answers`)
    assert.ok(statuses.every((status) => status === '200' || status === '503'), statuses.join())
    const { status } = await api.call('GET', path, { headers: { authorization: 'Bearer editor-token-of-a-test' } })
    assert.equal(status, 200)
    for (const socket of sockets) socket.destroy()
    await waitFor(() => api.api.inWork() === 0)
    const [, name, value] = /^(\w+): (.*)$/.exec(READER) ?? []
    assert.equal((await api.call('GET', path, { headers: { [name]: value } })).status, 200)
  })
}

for (const [method, path] of [
  ['GET', '/openapi.json'], ['GET', '/v1/documents'], ['POST', '/v1/publish'], ['GET', '/nowhere'], ['PUT', '/openapi.json']
]) {
  test(`a connection without a token has one pipelined answer at a time: ${method} ${path}`, async (t) => {
    const api = await startApi(t, { tokens: TOKENS })
    const one = request(method, path, method === 'GET' ? [] : ['content-length: 0'])
    for (const count of [2, 3, 200]) {
      const line = lineTo(t, api.url)
      let text = ''
      line.setEncoding('latin1').on('data', (chunk) => { text += chunk })
      line.write(one.repeat(count))
      const answers = () => text.match(/HTTP\/1\.1 \d/g)?.length ?? 0
      if (count === 2) await waitFor(() => answers() === 2)
      else {
        if (!line.closed) await once(line, 'close')
        assert.ok(answers() <= 2, `${answers()} answers to ${count} requests`)
      }
    }
    assert.equal(api.api.inWork(), 0)
    // those that came after the connection was closed do not reach the operations
    const counted = Object.values(await api.counted()).reduce((sum, n) => sum + n, 0)
    assert.ok(counted <= 2 + 3 + 3, `${counted} counted`)
  })
}

test('a connection without a token is kept for requests that do not overlap', async (t) => {
  const api = await startApi(t, { tokens: TOKENS })
  const line = lineTo(t, api.url)
  let text = ''
  line.setEncoding('latin1').on('data', (chunk) => { text += chunk })
  for (let i = 1; i <= 50; i++) {
    line.write(request('GET', '/openapi.json'))
    await waitFor(() => (text.match(/HTTP\/1\.1 200/g)?.length ?? 0) === i && text.endsWith('}'))
  }
})

for (const count of [1, 2, 200]) {
  test(`${count} requests of a connection that ends before they are answered hold nothing`, async (t) => {
    /** @type {(() => void)[]} */
    const waiting = []
    const api = await startApi(t, {
      tokens: TOKENS,
      sessions: { documents: () => new Promise((resolve) => { waiting.push(() => resolve([])) }) }
    })
    const line = lineTo(t, api.url)
    line.write(request('GET', '/v1/documents', [READER]).repeat(count))
    line.write(`${request('POST', '/v1/broadcast', [READER, 'content-length: 10'])}half`)
    await waitFor(() => api.api.inWork() === count + 1)
    line.destroy()
    for (const answer of waiting) answer()
    await waitFor(() => api.api.inWork() === 0, { message: () => `${api.api.inWork()} in work` })
    const counted = Object.values(await api.counted()).reduce((sum, n) => sum + n, 0)
    assert.ok(counted > count, `${counted} counted`)
  })
}
