import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RoomClient } from '../../../bench/presence/client.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const MEMBERS = 300
const LISTED = 100

test('a room that fills has messages in proportion to its members, and a bounded number of bytes per client', async (t) => {
  const server = await startEmbedded(t, { PRESENCE_MAX_MEMBERS: String(LISTED) })
  const target = { host: '127.0.0.1', port: Number(new URL(server.url).port) }
  /** @type {RoomClient[]} */
  const clients = []
  t.after(() => {
    for (const client of clients) client.close()
  })
  await Promise.all(
    Array.from(
      { length: MEMBERS },
      () =>
        new Promise((resolve, reject) => {
          clients.push(
            new RoomClient(target, { source: '127.0.0.1' }, (error) =>
              error === null ? resolve(undefined) : reject(error)
            )
          )
        })
    )
  )
  const begin = performance.now()
  await Promise.all(clients.map((client, i) => client.join('room', { n: i })))
  await waitFor(() => clients.every(({ count }) => count === MEMBERS), {
    timeout: 20_000,
    message: () => `every client to get the number ${MEMBERS}: ${Math.min(...clients.map(({ count }) => count))}`
  })
  const seconds = (performance.now() - begin) / 1000
  const messages = clients.reduce((sum, client) => sum + client.messages, 0)
  // 500 per second, and the first ones of each member
  assert.ok(messages <= 500 * (seconds + 1) + 4 * MEMBERS, `${messages} messages in ${seconds} s`)
  // some 100 bytes per listed member, in the response and in diffs, and the numbers
  const bytes = Math.max(...clients.map((client) => client.bytes))
  assert.ok(bytes < 2 * LISTED * 150 + 20_000, `${bytes} bytes`)
})
