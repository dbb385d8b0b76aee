import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import tls from 'node:tls'
import WebSocket from 'ws'
import { makeAuthority, replaceFile } from '../helpers/certificates.js'
import { connectToWorkers, createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { sum } from '../helpers/metrics-text.js'
import { publishOnce } from '../helpers/post.js'
import { waitFor } from '../helpers/wait.js'
import { freePorts } from '../services/ports.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const authority = makeAuthority(scope)

/**
 * A plain client that resumes.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {string} guid
 */
function device (t, url, guid) {
  /** @type {any} */
  let position = null
  const state = { got: /** @type {number[]} */ ([]), joins: 0, told: 0, resyncs: 0, isOpen: false }
  let ended = false
  /** @type {WebSocket} */
  let ws
  const open = () => {
    ws = new WebSocket(url, ['inkcast.json'], { rejectUnauthorized: false })
    ws.on('error', () => {})
    ws.on('message', (data) => {
      const { event, id, payload, meta } = JSON.parse(data.toString())
      if (event === 'gateway:connected') ws.send(JSON.stringify({ id: 1, event: 'doc:join', payload: { guid, position } }))
      if (event === 'gateway:draining') state.told++
      if (event === 'doc:resync') state.resyncs++
      if (id === 1) {
        position = payload.position
        state.joins++
        state.isOpen = true
      }
      if (meta?.offset === undefined) return
      position = { ...position, offset: meta.offset }
      state.got.push(payload)
    })
    ws.on('close', () => {
      state.isOpen = false
      if (!ended) setTimeout(open, 50)
    })
  }
  open()
  t.after(() => {
    ended = true
    ws.terminate()
  })
  return state
}

/**
 * A stock client that resumes.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {string} guid
 * @param {string[]} transports
 */
function page (t, url, guid, transports) {
  /** @type {any} */
  let position = null
  const state = { got: /** @type {number[]} */ ([]), joins: 0, told: 0, resyncs: 0, isOpen: false }
  const client = createClient(t, url, {
    transports, reconnection: true,
    auth: (/** @type {(auth: object) => void} */ send) => send({ documents: { [guid]: position } })
  })
  client.on('doc:joined', (answer) => {
    position = answer.position
    state.joins++
    state.isOpen = true
  })
  client.on('gateway:draining', () => { state.told++ })
  client.on('doc:resync', () => { state.resyncs++ })
  client.on('disconnect', () => { state.isOpen = false })
  client.on('message', (payload, { offset }) => {
    position.offset = offset
    state.got.push(payload)
  })
  return state
}

test(
  'clients of two ports, one with TLS, move once in a reload and miss nothing; a new certificate is taken; a stop drains all',
  { timeout: 240_000 },
  async (t) => {
    const [pages, devices] = await freePorts(2)
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(authority.folder, name))
    const use = (/** @type {string} */ name) => {
      const pair = authority.issue(name)
      replaceFile(cert, readFileSync(pair.cert))
      replaceFile(key, readFileSync(pair.key))
    }
    use('first')
    const cluster = await startCluster(t, {
      REDIS_URL, WORKERS: '2', LOG_LEVEL: 'info', DRAIN_TIMEOUT: '60000', TLS_FILES: `cert:${cert},key:${key}`,
      LISTENERS: `socketio://127.0.0.1:${pages},wss://127.0.0.1:${devices}/websocket/handshake`
    })
    const guid = `document-${randomUUID()}`
    const kinds = [['websocket'], ['polling'], ['polling', 'websocket']]
    const clients = [
      ...Array.from({ length: 9 }, (_, i) => page(t, `http://127.0.0.1:${pages}`, guid, kinds[i % 3])),
      ...Array.from({ length: 9 }, () => device(t, `wss://127.0.0.1:${devices}/websocket/handshake`, guid))
    ]
    const states = () => JSON.stringify(clients.map(({ got, ...state }) => ({ ...state, got: got.length })))
    await waitFor(() => clients.every(({ isOpen }) => isOpen), { timeout: 30_000, message: states })

    let sent = 0
    const publish = async () => {
      await publishOnce(cluster, guid, sent, { 'idempotency-key': `${guid}-${sent}` })
      sent++
    }
    process.kill(cluster.pid, 'SIGHUP')
    await waitFor(async () => {
      await publish()
      return cluster.output().includes('reload finished')
    }, { timeout: 90_000, message: cluster.output })
    await publish()
    const isBack = () => clients.every(({ isOpen, got }) => isOpen && got.length >= sent)
    await waitFor(isBack, { timeout: 30_000, message: states })
    const all = Array.from({ length: sent }, (_, i) => i)
    const text = await cluster.metrics()
    // other workers take the new clients of one that pauses
    const pauses = sum(text, 'inkcast_worker_hangs_total') > 0
    for (const [i, { got, joins, told, resyncs }] of clients.entries()) {
      assert.deepEqual(got, all, `client ${i}`)
      assert.equal(resyncs, 0, `client ${i}`)
      if (!pauses) assert.deepEqual({ joins, told }, { joins: 2, told: 1 }, `client ${i}`)
    }
    const toldBefore = clients.map(({ told }) => told)
    for (const port of [pages, devices]) {
      const numbers = [...text.matchAll(new RegExp(`^inkcast_connections\\{.*:${port}.*\\} (\\d+)$`, 'gm'))]
      assert.equal(numbers.reduce((sum, [, number]) => sum + Number(number), 0), 9, text)
    }
    // each worker accepts at this port again
    await connectToWorkers(t, `http://127.0.0.1:${pages}`, 2, 20)

    use('second')
    await waitFor(async () => await nameAt(t, devices) === 'second', { timeout: 15_000, message: 'the new certificate' })

    assert.deepEqual(await cluster.stop(), { code: 0, signal: null })
    await waitFor(() => clients.every(({ told, isOpen }, i) => told === toldBefore[i] + 1 && !isOpen), {
      message: states
    })
    for (const port of [pages, devices])
      await assert.rejects(connected(connect(port, '127.0.0.1')), { code: 'ECONNREFUSED' })
  }
)

/** @param {import('node:test').TestContext} t @param {number} port @returns {Promise<string>} of the certificate */
async function nameAt (t, port) {
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => socket.destroy())
  await new Promise((resolve, reject) => { socket.once('secureConnect', resolve).once('error', reject) })
  const name = String(socket.getPeerCertificate().subject.CN)
  socket.destroy()
  return name
}

/** @param {import('node:net').Socket} socket */
const connected = (socket) => new Promise((resolve, reject) => { socket.once('connect', resolve).once('error', reject) })
