/**
 * One worker of bench/subscriber.js: as a process with a subscription of its own, as a process that gets finished
 * messages from the hub over a unix socket, or as a thread that gets them in shared memory. The hub itself runs here
 * too. Each record's path is the real one: Redis client, channel, envelope, messages of both codecs.
 */
import net from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { decodeRecord } from '../../src/log/bus/redis-payload.js'
import { createLog } from '../../src/base/common/log.js'
import { Delivery } from '../../src/documents/delivery/delivery.js'
import { createRedis } from '../../src/redis/client.js'

/**
 * @typedef {object} Task
 * @property {'subscriber' | 'socket' | 'hub-sockets' | 'hub-threads'} role
 * @property {string} url of Redis
 * @property {string} path of the hub's unix socket
 * @property {string} channel
 * @property {number} workers
 */

const SELF = new URL(import.meta.url)
/** Bytes of shared memory, used in turn. */
const RING = 2 ** 22
/** ms from publishing to each receipt, of all records since the last question. @type {number[]} */
let latencies = []

/** @param {number} sentAt ms, process.hrtime */
const received = (sentAt) => { latencies.push(Number(process.hrtime.bigint()) / 1e6 - sentAt) }

/**
 * Unpacks a payload and makes its messages, as a worker does before it writes to its connections.
 * @param {Buffer} payload
 * @returns {{ sentAt: number, messages: Buffer[] }}
 */
function open (payload) {
  const { publication, offset, after } = decodeRecord(payload)
  const delivery = new Delivery(publication, offset, null, after)
  const messages = [...delivery.messages('json'), ...delivery.messages('msgpack')].map(({ frame }) => frame)
  return { sentAt: Number(publication.traceId), messages }
}

/** @param {Task} task @param {(payload: Buffer) => void} onPayload */
async function subscribe ({ url, channel }, onPayload) {
  const log = createLog({ level: 'silent', pretty: false, role: 'bench', clock: systemClock })
  const redis = createRedis({ urls: [url], name: 'bench', log, clock: systemClock, random: systemRandom })
  await redis.start()
  await redis.channels.subscribe(channel, onPayload)
}

/** As one message: the time of publishing, and both messages with their lengths. @param {Buffer} payload */
function finished (payload) {
  const { sentAt, messages } = open(payload)
  const head = Buffer.alloc(12 + 4 * messages.length)
  const size = messages.reduce((sum, { length }) => sum + length, head.length)
  head.writeUInt32BE(size, 0)
  head.writeDoubleBE(sentAt, 4)
  messages.forEach(({ length }, i) => head.writeUInt32BE(length, 12 + 4 * i))
  return Buffer.concat([head, ...messages])
}

/** @param {Buffer} bytes @param {number} at */
const sentAtOf = (bytes, at) => bytes.readDoubleBE(at + 4)

/** @type {Record<Task['role'], (task: Task) => Promise<void>>} */
const ROLES = {
  subscriber: (task) => subscribe(task, (payload) => received(open(payload).sentAt)),

  async socket ({ path }) {
    const socket = net.connect(path)
    let rest = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      while (bytes.length >= 4 && bytes.length >= bytes.readUInt32BE(0)) {
        received(sentAtOf(bytes, 0))
        bytes = bytes.subarray(bytes.readUInt32BE(0))
      }
      rest = bytes
    })
    await new Promise((resolve) => { socket.once('connect', resolve) })
  },

  async 'hub-sockets' (task) {
    /** @type {net.Socket[]} */
    const sockets = []
    const server = net.createServer((socket) => { sockets.push(socket) })
    await new Promise((resolve) => { server.listen(task.path, () => resolve(undefined)) })
    await subscribe(task, (payload) => {
      const message = finished(payload)
      for (const socket of sockets) socket.write(message)
    })
  },

  async 'hub-threads' (task) {
    const memory = new SharedArrayBuffer(RING)
    const threads = Array.from({ length: task.workers }, () => new Worker(SELF, { workerData: { memory } }))
    await Promise.all(threads.map((thread) => new Promise((resolve) => { thread.once('online', resolve) })))
    const ring = Buffer.from(memory)
    let at = 0
    await subscribe(task, (payload) => {
      const message = finished(payload)
      if (at + message.length > RING) at = 0
      message.copy(ring, at)
      for (const thread of threads) thread.postMessage(at)
      at += message.length
    })
    process.on('message', () => {
      let answers = threads.length
      for (const thread of threads) {
        thread.once('message', (own) => {
          latencies.push(...own)
          if (--answers === 0) process.send?.(latencies.splice(0))
        })
        thread.postMessage('report')
      }
    })
  }
}

if (isMainThread) {
  process.once('message', async (/** @type {Task} */ task) => {
    await ROLES[task.role](task)
    if (task.role !== 'hub-threads') process.on('message', () => process.send?.(latencies.splice(0)))
    process.send?.('ready')
  })
} else {
  const ring = Buffer.from(workerData.memory)
  parentPort?.on('message', (/** @type {number | 'report'} */ at) => {
    if (at === 'report') {
      parentPort?.postMessage(latencies)
      latencies = []
    } else {
      received(sentAtOf(ring, at))
    }
  })
}
