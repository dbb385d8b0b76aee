import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LoadClient } from '../../../packages/load/client.js'
import { LINKS } from '../../../packages/load/link.js'
import { planOf } from '../../../packages/load/plan.js'

/** @typedef {import('../../../packages/load/link.js').Events} Events */

/**
 * A client without a document, whose connection the test is.
 * @param {import('node:test').TestContext} t
 */
function openClient (t) {
  /** @type {Events[]} */
  const links = []
  t.mock.method(LINKS, 'socketio', (/** @type {unknown} */ _wish, /** @type {Events} */ events) => {
    links.push(events)
    return { acknowledge () {}, emit () {}, silence () {}, close () {} }
  })
  const counts = { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 }
  const ignore = () => {}
  const client = new LoadClient({
    run: 'r', plan: planOf('hold', { everyone: 1000 }), counts, onLatency: ignore, onOpen: ignore, onEnd: ignore,
    target: { host: '127.0.0.1', port: 1, secure: false, insecure: false }
  }, { id: 'one', msgpack: false, polling: false, documents: new Map() })
  const connect = () => {
    client.connect()
    links.at(-1)?.onConnected(1000)
  }
  connect()
  return {
    client,
    counts,
    connect,
    cut: () => links.at(-1)?.onEnd('cut'),
    get: (/** @type {number} */ number) =>
      links.at(-1)?.onRecord({ run: 'r', number, at: 0, document: -1, offset: undefined, ack: undefined })
  }
}

test('a record to everyone that comes twice while the next one is on its way is doubled, and the next one is missing', (t) => {
  const { client, counts, get } = openClient(t)
  client.expect(1)
  get(1)
  client.expect(2)
  get(1)
  assert.deepEqual([counts.deliveries, counts.doubled, client.outstanding], [1, 1, 1])
  get(2)
  assert.deepEqual([counts.deliveries, counts.doubled, client.outstanding], [2, 1, 0])
})

test('records to everyone may come in another order than they were published', (t) => {
  const { client, counts, get } = openClient(t)
  for (const number of [1, 2]) client.expect(number)
  for (const number of [2, 1]) get(number)
  assert.deepEqual([counts.deliveries, counts.doubled, client.outstanding], [2, 0, 0])
})

test('after a cut nothing is due but what is published from then on', (t) => {
  const { client, counts, connect, cut, get } = openClient(t)
  for (const number of [1, 2]) client.expect(number)
  get(1)
  cut()
  assert.deepEqual([counts.cut, client.outstanding], [1, 0])
  connect()
  get(2)
  client.expect(3)
  get(2)
  get(3)
  assert.deepEqual([counts.deliveries, counts.doubled, client.outstanding], [2, 0, 0])
})
