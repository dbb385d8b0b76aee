#!/usr/bin/env node
/**
 * Memory of Redis for users, open documents, records and presence: `node bench/redis-memory.js`, two minutes. It runs
 * two workers over Redis, without Kafka. The figures are differences of used_memory, free of other programs.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { io } from 'socket.io-client'
import { createSigner } from 'fast-jwt'
import { startCluster } from '../test/helpers/cluster.js'
import { startRedis } from '../test/services/redis.js'
import { ClientPool } from './client/pool.js'
import { guidOf } from './job.js'
import { environment } from './measure/environment.js'
import { round } from './measure/quantiles.js'
import { scoped } from './measure/scope.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'

const CONNECTIONS = 5000
/** Members of each document of the first step. */
const MEMBERS = 10
/** Further documents of each client. */
const MORE = 4
const RECORDS = 200
const RECORD_BYTES = 500
const PRESENT = 1000
const TOKEN = 'a-token-of-the-load-tool-with-32-characters'

/** @typedef {{ what: string, bytes: number }} Figure */

/**
 * @param {Redis} redis
 * @returns {Promise<number>} used_memory when it no longer changes, bytes
 */
async function usedMemory (redis) {
  let before = -1
  for (let times = 0; times < 60; times++) {
    await delay(1000)
    const now = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
    if (Math.abs(now - before) < 20_000) return now
    before = now
  }
  throw new Error('used_memory does not settle')
}

/** @param {string} apiUrl @param {number} documents */
async function publish (apiUrl, documents) {
  let next = 0
  const body = JSON.stringify('x'.repeat(RECORD_BYTES - 2))
  await Promise.all(Array.from({ length: 64 }, async () => {
    while (next < documents * RECORDS) {
      const response = await fetch(`${apiUrl}/v1/documents/${guidOf(next++ % documents)}/broadcast`, {
        method: 'POST', body, headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` }
      })
      if (!response.ok) throw new Error(await response.text())
      await response.arrayBuffer()
    }
  }))
}

/** @param {string} url @param {string} secret @returns {Promise<import('socket.io-client').Socket[]>} connected */
function openStock (url, secret) {
  const sign = createSigner({ key: secret, algorithm: 'HS256', expiresIn: 3_600_000 })
  return Promise.all(Array.from({ length: PRESENT }, (_, i) => new Promise((resolve, reject) => {
    const token = sign({ sub: `present-${i}`, name: `User ${i}` })
    const socket = io(url, { transports: ['websocket'], forceNew: true, auth: { token } })
    socket.once('connect', () => resolve(socket)).once('connect_error', reject)
  })))
}

/** @returns {Promise<{ figures: Figure[], fragmentation: number, version: string }>} */
const measure = () => scoped(async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const redis = new Redis(server.url)
  t.after(() => redis.disconnect())
  const secret = randomBytes(32).toString('hex')
  const cluster = await startCluster(t, {
    NODE_ENV: 'production', HOST: '127.0.0.1', WORKERS: '2', REDIS_URL: server.url, AUTH_JWT_SECRET: secret,
    API_TOKENS: `load:${TOKEN}`, MAX_HANDSHAKES_PER_SECOND: '1000000'
  })
  const pool = new ClientPool(1)
  t.after(() => pool.close())
  const { hostname, port } = new URL(cluster.url)
  const documents = CONNECTIONS / MEMBERS
  const empty = await usedMemory(redis)
  await pool.open({
    kind: 'websocket', target: { host: hostname, port: Number(port) }, secret, first: 0, count: CONNECTIONS, concurrency: 64,
    documents, timeoutMs: 30_000
  }, () => {})
  const open = await usedMemory(redis)

  /** @param {{ base: number, documents: number, members: number }} membership */
  const join = async (membership) => {
    const { failures } = await pool.join({ ...membership, clients: CONNECTIONS })
    if (Object.keys(failures).length > 0) throw new Error(JSON.stringify(failures))
    return usedMemory(redis)
  }
  const many = await join({ base: 1_000_000, documents: MORE * documents, members: MEMBERS })
  const lonely = await join({ base: 2_000_000, documents: CONNECTIONS, members: 1 })
  // many - open = MORE × (connections × member + documents × document)
  // lonely - many = connections × (member + document)
  const both = (lonely - many) / CONNECTIONS
  const document = ((many - open) / MORE - CONNECTIONS * both) / (documents - CONNECTIONS)
  const member = both - document
  const connection = (open - empty - documents * document - CONNECTIONS * member) / CONNECTIONS

  const before = await usedMemory(redis)
  await publish(cluster.apiUrl, documents)
  const records = await usedMemory(redis)
  const meta = Number(await redis.call('MEMORY', 'USAGE', `inkcast:{d:${guidOf(0)}}:meta`))
  const fragmentation = Number(/^mem_fragmentation_ratio:([\d.]+)/m.exec(await redis.info('memory'))?.[1])

  const sockets = await openStock(cluster.url, secret)
  t.after(() => { for (const socket of sockets) socket.disconnect() })
  const stock = await usedMemory(redis)
  const state = { color: '#3366cc', cursor: { line: 12, column: 40 } }
  await Promise.all(sockets.map((socket, i) =>
    socket.emitWithAck('doc:join', { guid: `present-${Math.floor(i / MEMBERS)}`, state })))
  const present = await usedMemory(redis)
  return {
    figures: [
      { what: 'a user with one connection', bytes: connection },
      { what: 'an open document, without its members and records', bytes: document },
      { what: 'a member of a document', bytes: member },
      {
        what: `presence of a member with a state of ${JSON.stringify(state).length} bytes, and its share of 1/${MEMBERS} of the ` +
          `document's presence`,
        bytes: (present - stock) / PRESENT - member - document / MEMBERS
      },
      { what: 'epoch and last offset of a document, kept for 7 days after its last record (MEMORY USAGE)', bytes: meta },
      { what: `a record of ${RECORD_BYTES} bytes in a log of ${RECORDS}`, bytes: (records - before) / (documents * RECORDS) }
    ],
    fragmentation,
    version: /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? '?'
  }
})

const where = environment()
const { figures, fragmentation, version } = await measure()
const table = markdownTable(['what', 'bytes'], figures.map(({ what, bytes }) => [what, round(bytes, 0)]))
console.log(table)
const page = [
  `# Memory of Redis, ${where.date.slice(0, 10)}`, table, '## How it was measured',
  `\`${where.command}\` on ${where.date}, ${where.machine.kernel}, Redis ${version}, Node ${process.versions.node}. Two gateway workers ` +
  'over one Redis without persistence, without Kafka. ' +
  `${CONNECTIONS.toLocaleString('en')} users with one connection each, first in ${CONNECTIONS / MEMBERS} documents of ${MEMBERS} ` +
  `members, then in ${MORE} more such documents each, then each in a document of its own; ` +
  `${RECORDS} records to each of the first documents; ${PRESENT.toLocaleString('en')} further connections with presence. The figures ` +
  `are differences of \`used_memory\`, solved for their parts. ` +
  `Guids, user ids and names have 6 to 16 characters. Resident memory was ${fragmentation} times \`used_memory\`.`
].join('\n\n') + '\n'
console.log(saveResults('redis-memory', { ...where, version, figures, fragmentation }, () => page))
process.exit()
