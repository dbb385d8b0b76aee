import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPolling } from '../../../packages/load/polling.js'
import { httpService } from '../../helpers/http-service.js'
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
  const { url } = await httpService(t, ({ method, body }) => new Promise((resolve) => {
    if (method === 'POST') posts.push({ body, answer: () => resolve({ body: 'ok' }) })
    else if (method === 'HEAD') resolve({ body: '' })
    else if (polls++ === 0) resolve({ body: OPEN })
  }))
  const port = Number(new URL(url).port)
  const transport = openPolling({ host: '127.0.0.1', port, secure: false, insecure: false }, undefined, {
    onMessage () {}, onEnd: assert.fail
  })
  await waitFor(() => polls === 2)
  return { transport, posts, url }
}

test('a connection is closed after what it has sent: one POST at a time', async (t) => {
  const { transport, posts, url } = await connectTo(t)
  transport.send('41')
  await waitFor(() => posts.length === 1)
  transport.send('42')
  transport.close()
  // a second POST would have arrived before
  await fetch(url, { method: 'HEAD' })
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
