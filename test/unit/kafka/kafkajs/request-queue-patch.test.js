import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { mock, test } from 'node:test'
import { patchRequestQueue } from '../../../../src/kafka/kafkajs/request-queue-patch.js'

const load = createRequire(import.meta.url)

/** @returns {any} an unpatched class, the one that is patched next */
function freshRequestQueue () {
  const path = load.resolve('kafkajs/src/network/requestQueue')
  delete load.cache[path]
  return load(path)
}

/**
 * @param {any} RequestQueue
 * @param {object} [options]
 */
const queueOf = (RequestQueue, options) =>
  new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: 5000,
    enforceRequestTimeout: true,
    clientId: 'c',
    broker: 'b',
    isConnected: () => true,
    logger: { debug () {}, warn () {} },
    ...options
  })

/** @param {any} queue @param {number} correlationId @param {() => void} sendRequest */
const push = (queue, correlationId, sendRequest) =>
  queue.push({
    entry: { correlationId, apiKey: 1, apiVersion: 1, apiName: 'Test', resolve () {}, reject () {} },
    expectResponse: true,
    sendRequest,
    requestTimeout: null
  })

test('an idle queue sets no timer, while the stock one sets one each millisecond', (t) => {
  const timers = () => {
    const set = mock.method(globalThis, 'setTimeout')
    try {
      const queue = queueOf(RequestQueue)
      queue.checkPendingRequests()
      queue.checkPendingRequests()
      queue.destroy()
      return set.mock.callCount()
    } finally {
      set.mock.restore()
    }
  }
  const RequestQueue = freshRequestQueue()
  // Node 24 warns of the stock one's negative delay
  process.on('warning', () => {})
  t.after(() => process.removeAllListeners('warning'))
  assert.equal(timers(), 1)
  patchRequestQueue()
  assert.equal(timers(), 0)
})

test('a throttled request is sent when throttling ends', async () => {
  const RequestQueue = freshRequestQueue()
  patchRequestQueue()
  const queue = queueOf(RequestQueue)
  queue.maybeThrottle(120)
  let sent = false
  const done = new Promise((resolve) => { push(queue, 1, () => resolve(sent = true)) })
  await new Promise((resolve) => { setImmediate(resolve) })
  assert.equal(sent, false, 'it is throttled')
  await done
  queue.destroy()
})

test('a request above the in-flight limit is sent when another one is answered', () => {
  const RequestQueue = freshRequestQueue()
  patchRequestQueue()
  const queue = queueOf(RequestQueue, { maxInFlightRequests: 1 })
  /** @type {number[]} */
  const sent = []
  push(queue, 1, () => sent.push(1))
  push(queue, 2, () => sent.push(2))
  assert.deepEqual(sent, [1])
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 })
  assert.deepEqual(sent, [1, 2])
  queue.destroy()
})

test('a request that is not answered times out', async () => {
  const RequestQueue = freshRequestQueue()
  patchRequestQueue()
  const queue = queueOf(RequestQueue, { requestTimeout: 50 })
  queue.scheduleRequestTimeoutCheck()
  const keepAlive = setInterval(() => {}, 1000)
  const error = await new Promise((resolve) =>
    queue.push({
      entry: { correlationId: 1, apiKey: 1, apiVersion: 1, apiName: 'Test', resolve () {}, reject: resolve },
      expectResponse: true,
      sendRequest () {},
      requestTimeout: null
    })
  )
  clearInterval(keepAlive)
  queue.destroy()
  assert.equal(error.name, 'KafkaJSRequestTimeoutError')
})
