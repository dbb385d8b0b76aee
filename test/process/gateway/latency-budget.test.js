import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { entry, range } from '../../contract/bus-fixture.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'
import { kConnection } from '../../../src/gateway/connection.js'

/**
 * A server, and a member of the documents a and b whose writes are counted.
 * @param {import('node:test').TestContext} t
 * @param {string} budget ms
 */
async function start (t, budget) {
  const server = await startEmbedded(t, { DELIVERY_LATENCY_BUDGET: budget })
  const client = await connectClient(t, server.url)
  for (const guid of ['a', 'b']) await client.ask('doc:join', { guid })
  const [socket] = server.gateway.io.sockets.sockets.values()
  /** @type {import('../../../src/gateway/connection.js').Connection} */
  const connection = /** @type {any} */ (socket)[kConnection]
  const { netSocket } = connection.conn
  const writes = { count: 0 }
  const { write } = netSocket
  netSocket.write = (/** @type {unknown[]} */ ...args) => {
    writes.count++
    return write.apply(netSocket, args)
  }
  return { server, client, socket, connection, writes }
}

/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const payloads = ({ received }) => received.map(({ payload }) => payload)

describe('the latency budget', () => {
  test('joins records across turns and documents, in order, and not for longer', async (t) => {
    const { server, client, writes } = await start(t, '1000')
    for (let i = 0; i < 10; i++) {
      server.gateway.bus.publish([entry(i % 2 ? 'a' : 'b', i)])
      await new Promise((resolve) => { setImmediate(resolve) })
    }
    assert.deepEqual(payloads(client), [])
    await waitFor(() => client.received.length === 10)
    assert.deepEqual(payloads(client), range(10))
    assert.equal(writes.count, 1)
    // the next record starts a budget of its own
    server.gateway.bus.publish([entry('a', 10)])
    await waitFor(() => client.received.length === 11)
    assert.equal(writes.count, 2)
  })

  test('ends when anything else is written, when the queue is long, and when the connection is about to end', async (t) => {
    const { server, client, socket, connection, writes } = await start(t, '1000')
    const published = async (/** @type {unknown} */ text) => {
      server.gateway.bus.publish([entry('a', /** @type {string} */ (text))])
      await delay(5)
    }
    // writes during the call itself: the budget alone would not write by then
    const writesAfter = (/** @type {() => void} */ make) => {
      const before = writes.count
      make()
      return writes.count - before
    }
    await published(0)
    assert.ok(writesAfter(() => socket.emit('own', 1)) > 0)
    await published(2)
    assert.equal((await client.ask('doc:leave', { guid: 'b' })).ok, true)
    await waitFor(() => client.received.length === 3)
    assert.deepEqual(payloads(client), [0, 1, 2])
    await published('x'.repeat(70_000))
    await waitFor(() => client.received.length === 4)
    await published(4)
    assert.ok(writesAfter(() => connection.goAway()) > 0)
    await waitFor(() => !client.connected)
    assert.deepEqual(client.received.at(-1)?.payload, 4)
  })

  test('is off by default', async (t) => {
    const { server, client, writes } = await start(t, '0')
    for (let i = 0; i < 5; i++) {
      server.gateway.bus.publish([entry('a', i)])
      await waitFor(() => client.received.length === i + 1)
    }
    assert.equal(writes.count, 5)
  })
})
