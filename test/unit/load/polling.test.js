import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPolling } from '../../../packages/load/polling.js'
import { waitFor } from '../../helpers/wait.js'

const OPEN = '0{"sid":"s","pingInterval":25000,"pingTimeout":20000}'

/**
 * A server of one session, which answers a POST when the test says so.
 * @param {import('node:test').TestContext} t
 */
async function connectTo (t) {
  /** @type {{ body: string, answer: () => void }[]} */
  const posts = []
  let polls = 0
  const server = http.createServer((request, response) => {
    if (request.method === 'GET') {
      if (polls++ === 0) response.end(OPEN)
      return
    }
    let body = ''
    request.on('data', (chunk) => { body += chunk })
    request.on('end', () => posts.push({ body, answer: () => response.end('ok') }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const transport = openPolling({ host: '127.0.0.1', port, secure: false, insecure: false }, undefined, {
    onMessage () {}, onEnd: assert.fail
  })
  await waitFor(() => polls === 2)
  return { transport, posts }
}

test('a connection is closed after what it has sent: one POST at a time', async (t) => {
  const { transport, posts } = await connectTo(t)
  transport.send('41')
  await waitFor(() => posts.length === 1)
  transport.send('42')
  transport.close()
  await sleep(100)
  assert.deepEqual(posts.map(({ body }) => body), ['41'])
  posts[0].answer()
  await waitFor(() => posts.length === 2)
  assert.equal(posts[1].body, '42\x1e1')
  posts[1].answer()
})

test('a connection without a POST in progress is closed at once, with what it was sent in the same turn', async (t) => {
  const { transport, posts } = await connectTo(t)
  transport.send('41')
  transport.close()
  await waitFor(() => posts.length === 1)
  assert.equal(posts[0].body, '41\x1e1')
  posts[0].answer()
})
