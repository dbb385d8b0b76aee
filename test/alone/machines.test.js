import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { Emitter } from '@socket.io/redis-emitter'
import { Redis } from 'ioredis'
import { PROOF_HEADER, proofFor } from '../../src/peers/request-proof.js'
import { certificate, startHaproxy } from '../helpers/balancer.js'
import {
  connectAllKinds, everyKindWorks, joinAll, nothingIsLost, requestsAreForwarded, sum, workerOf, workersOf
} from '../helpers/behind-balancer.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { createHosts, lacksHosts } from '../helpers/hosts.js'
import { signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { spawnGuarded } from '../services/guard.js'
import { lacks } from '../services/install.js'
import { waitUntil } from '../services/wait.js'

/**
 * Three hosts with networks and names of their own. Two run inkcast with the settings of docs/deployment.md; the third
 * one runs Redis, Kafka and HAProxy with deploy/haproxy/terminate.cfg, changed only in the path of the certificate.
 */
const skip = await lacksHosts() || await lacks(['haproxy', 'redis-server', 'java'])
const scope = fileScope()
const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))
const { ca } = certificate
const [, documented] = /```env\n(NODE_ENV=[^`]*)```/.exec(readFileSync(here('../../docs/deployment.md'), 'utf8')) ?? []
const settings = /** @type {Record<string, string>} */ (parseEnv(documented))

/** @typedef {Awaited<ReturnType<typeof startMachine>>} Machine */
/** @type {Awaited<ReturnType<typeof createHosts>>} */
let hosts
/** @type {{ redisUrl: string, redisPort: number, kafkaBrokers: string }} */
let services
/** @type {Machine} */
let first
/** @type {Machine} */
let second
/** @type {string} */
let url
/** @type {Redis} */
let redis

before(async () => {
  if (skip) return
  hosts = await createHosts(scope, { machine1: '10.0.0.11', machine2: '10.0.0.12', services: '10.0.0.13' })
  services = await startServices()
  ;[first, second] = await Promise.all([
    startMachine('machine1', { WORKERS: '2', PEER_PORT: '0', EMITTER_KEY: 'socket.io' }),
    startMachine('machine2', { WORKERS: '1', EMITTER_KEY: 'socket.io' })
  ])
  url = await startBalancer()
  redis = new Redis(await hosts.services.door(services.redisPort), '127.0.0.1')
  scope.after(() => redis.disconnect())
}, { timeout: 150_000 })

async function startServices () {
  const directory = makeDirectory('host-services')
  scope.after(() => removeDirectory(directory))
  const log = join(directory, 'log')
  const [program, ...args] = hosts.services.command([
    process.execPath,
    here('../helpers/host-services.js'),
    hosts.services.address
  ])
  const starter = spawnGuarded(program, args, { log, directory })
  scope.after(() => starter.stop())
  return waitUntil('Redis and Kafka on a host', () => {
    const line = readFileSync(log, 'utf8').split('\n').find((line) => line.startsWith('{'))
    return JSON.parse(/** @type {string} */ (line))
  }, { processes: [starter], timeoutMs: 45_000 })
}

/**
 * @param {'machine1' | 'machine2' | 'services'} name
 * @param {Record<string, string>} env
 * @param {Parameters<typeof startCluster>[2]} [options]
 */
async function startMachine (name, env, options) {
  const host = hosts[name]
  const own = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value.replace('10.0.0.11', host.address)])
  )
  const machine = await startCluster(scope, {
    ...own,
    REDIS_URL: services.redisUrl,
    KAFKA_BROKERS: services.kafkaBrokers,
    // detect a machine without network within seconds
    NETWORK: '5000:5000:5000',
    ...env
  }, { host, timeout: 45_000, ...options })
  const authorization = `Bearer ${settings.API_TOKENS.split(':')[1]}`
  /** @type {typeof machine.post} */
  const post = (path, body, headers) => machine.post(path, body, { authorization, ...headers })
  /** @param {string} path */
  const remove = (path) => fetch(machine.apiUrl + path, { method: 'DELETE', headers: { authorization } })
  return { ...machine, post, remove }
}

async function startBalancer () {
  const [port, statsPort] = await Promise.all([hosts.services.door(443), hosts.services.door(8404, '127.0.0.1')])
  await startHaproxy(scope, {
    file: 'haproxy/terminate.cfg',
    replacements: {},
    command: hosts.services.command([]),
    answers: () => fetch(`http://127.0.0.1:${statsPort}/stats;csv`, { signal: AbortSignal.timeout(5000) })
  })
  return `https://127.0.0.1:${port}`
}

/** @param {string} [uid] */
const asUser = async (uid = `user-${randomUUID()}`) => ({
  ca,
  auth: { token: await signToken({ sub: uid }, { key: settings.AUTH_JWT_SECRET }) }
})

/**
 * The polling transport without a client library.
 * @param {string} url of a machine
 * @param {string} [sid]
 * @param {RequestInit} [init]
 */
async function poll (url, sid, init) {
  const answer = await fetch(`${url}/socket.io/?EIO=4&transport=polling${sid === undefined ? '' : `&sid=${sid}`}`, init)
  return { status: answer.status, text: await answer.text() }
}

/** @param {string} url of a machine @returns {Promise<string>} */
async function openSession (url) {
  const { status, text } = await poll(url)
  assert.equal(status, 200, text)
  return JSON.parse(text.slice(1)).sid
}

test(
  'clients of every kind work on two machines with round-robin requests',
  { skip, timeout: 180_000 },
  async (t) => {
    const balanced = { url, machines: [first, second], options: await asUser() }
    await everyKindWorks(t, balanced)
    await requestsAreForwarded(t, balanced)
    for (const machine of [first, second]) {
      const metrics = await machine.metrics()
      const misroutedTotal = (/** @type {string} */ result) =>
        sum(metrics, 'inkcast_stray_requests_total', `result="${result}"`)
      assert.deepEqual({ failed: misroutedTotal('failed'), unknown: misroutedTotal('unknown') }, { failed: 0, unknown: 0 })
    }
  }
)

test('a session of one machine is served by each worker of the other, request by request', { skip }, async () => {
  for (const [owner, others] of [[first, second], [second, first]]) {
    for (let i = 0; i < 8; i++) {
      const sid = await openSession(owner.url)
      const token = await signToken({ sub: 'by-hand' }, { key: settings.AUTH_JWT_SECRET })
      assert.deepEqual(await poll(others.url, sid, { method: 'POST', body: `40${JSON.stringify({ token })}` }), {
        status: 200,
        text: 'ok'
      })
      const answer = await poll(others.url, sid)
      assert.equal(answer.status, 200)
      assert.match(answer.text, /^40\{"sid":"/)
    }
  }
})

test(
  'records, signals and Socket.IO rooms reach members on both machines',
  { skip, timeout: 180_000 },
  async (t) => {
    const guid = `both-${randomUUID()}`
    const options = await asUser()
    const clients = (
      await Promise.all([first, second].map((machine) => connectAllKinds(t, machine.url, { each: 1, options })))
    ).flat()
    await joinAll(clients, guid)
    const machines = new Set(
      (await Promise.all([first, second].map((machine) => machine.metrics()))).map(
        (text) => sum(text, 'inkcast_documents') > 0
      )
    )
    assert.deepEqual([...machines], [true], 'members on both machines')

    for (const machine of [first, second])
      assert.equal((await machine.post(`/v1/documents/${guid}/broadcast`, 'record')).status, 202)
    await waitFor(() => clients.every(({ received }) => received.length === 2), {
      timeout: 15_000,
      message: () => clients.map(({ received }) => received.length)
    })
    for (const { received } of clients)
      assert.deepEqual(
        received.map(({ meta }) => meta.offset),
        [1, 2]
      )

    assert.equal((await clients[0].ask('doc:signal', { guid, event: 'cursor', data: 7 })).ok, true)
    await waitFor(() => clients.slice(1).every(({ received }) => received.length === 3), {
      message: () => clients.map(({ received }) => received.length)
    })

    const [program, ...args] = hosts.services.command([
      process.execPath,
      here('../helpers/extension.js'),
      services.redisUrl
    ])
    const extension = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => extension.kill('SIGKILL'))
    const lines = createInterface(extension.stdout)
    const ask = async (/** @type {string} */ question) => {
      extension.stdin.write(`${question} doc:${guid}\n`)
      return JSON.parse(String((await once(lines, 'line', { signal: AbortSignal.timeout(30_000) }))[0]))
    }
    assert.equal(await ask('count'), clients.length)
    await ask('emit')
    const notices = () =>
      clients.map(({ received }) => received.filter(({ event }) => event === 'notice').map(({ payload }) => payload))
    await waitFor(() => notices().every((list) => list.length > 0), { message: notices })
    assert.deepEqual(
      notices(),
      clients.map(() => [{ room: `doc:${guid}` }])
    )
  }
)

test('an emitter without inkcast reaches all of 200 clients on both machines', { skip, timeout: 180_000 }, async (t) => {
  const codecs = /** @type {const} */ (['json', 'msgpack'])
  const clients = await Promise.all(Array.from({ length: 200 }, async (_, i) =>
    connectClient(t, [first, second][i % 2].url, { ...await asUser(), codec: codecs[(i >> 1) % 2] })
  ))
  const guid = `emitter-${randomUUID()}`
  const members = clients.filter((_, i) => i % 3 === 0)
  await joinAll(members, guid)
  const emitter = new Emitter(redis)
  emitter.emit('to all', { text: 'größer' })
  emitter.to(`doc:${guid}`).emit('to a room', 2)
  emitter.emit('the end', 3)
  await waitFor(() => clients.every(({ received }) => received.at(-1)?.event === 'the end'), {
    timeout: 15_000,
    message: () => clients.filter(({ received }) => received.at(-1)?.event !== 'the end').length
  })
  for (const client of clients) {
    assert.deepEqual(client.received.map(({ event, payload }) => [event, payload]), [
      ['to all', { text: 'größer' }],
      ...(members.includes(client) ? [['to a room', 2]] : []),
      ['the end', 3]
    ])
  }
})

test('kick disconnects a user on both machines, from either one', { skip, timeout: 180_000 }, async (t) => {
  const uid = `user-${randomUUID()}`
  const options = await asUser(uid)
  const tabs = (await Promise.all([first, second].flatMap((machine) =>
    [['websocket'], ['polling']].map((transports) => connectClient(t, machine.url, { ...options, transports })))))
  const stranger = await connectClient(t, second.url, await asUser())
  const ends = tabs.map(async (tab) => {
    const [told, reason] = await Promise.all([tab.next('gateway:disconnect'), tab.next('disconnect')])
    return { code: told[0].code, reason: reason[0] }
  })
  assert.equal((await first.remove(`/v1/users/${uid}/connections`)).status, 202)
  assert.deepEqual(await Promise.all(ends), tabs.map(() => ({ code: 'kicked', reason: 'io server disconnect' })))
  assert.equal(stranger.connected, true)
})

test('the listener for other machines serves only them', { skip }, async () => {
  const sid = await openSession(second.url)
  const listener = `http://127.0.0.1:${await hosts.machine2.door(3100)}`
  const path = `/socket.io/?EIO=4&transport=polling&sid=${sid}`
  const secret = String(await redis.get('inkcast:{workers}:secret'))
  assert.ok(secret.length >= 43, 'the secret of the cluster')
  const ask = (/** @type {Record<string, string>} */ headers) =>
    poll(listener, sid, { method: 'POST', body: '40{}', headers })
  const proof = (/** @type {string} */ secret, method = 'POST', url = path, at = Date.now()) => ({
    [PROOF_HEADER]: proofFor(secret, method, url, at)
  })
  const refused = { status: 403, text: '' }

  assert.deepEqual(await ask({}), refused)
  assert.deepEqual(await ask({ [PROOF_HEADER]: 'nonsense' }), refused)
  assert.deepEqual(await ask(proof('a made-up secret')), refused)
  assert.deepEqual(await ask(proof(secret, 'GET')), refused, 'for another method')
  assert.deepEqual(await ask(proof(secret, 'POST', path.replace(sid, 'another'))), refused, 'for another session')
  assert.deepEqual(await ask(proof(secret, 'POST', path, Date.now() - 60_000)), refused, 'a minute old')
  assert.deepEqual(await ask(proof(secret, 'POST', path, Date.now() + 60_000)), refused, 'from the future')
  assert.equal((await fetch(`${listener}/status`)).status, 404)
  assert.deepEqual(await ask(proof(secret)), { status: 200, text: 'ok' })

  // the public listener ignores a proof header
  const strange = await poll(first.url, sid, { headers: { [PROOF_HEADER]: 'nonsense' } })
  assert.equal(strange.status, 200)
})

test(
  'other machines reach a worker during its replacement, and its successor',
  { skip, timeout: 180_000 },
  async (t) => {
    const options = await asUser()
    const [before] = await workersOf(t, second.url, 1, options)
    process.kill(second.pid, 'SIGHUP')
    let sid = ''
    await waitFor(
      async () => {
        sid = await openSession(second.url)
        return sid.slice(0, 2) !== before
      },
      { timeout: 20_000, message: 'a session on the new worker' }
    )
    assert.deepEqual(await poll(first.url, sid, { method: 'POST', body: '40{}' }), { status: 200, text: 'ok' })
    await waitFor(second.ready, { timeout: 20_000, message: 'the end of the reload' })
  }
)

test('sessions of a machine without PEER_HOST are unknown to others', { skip, timeout: 180_000 }, async () => {
  const closed = await startMachine(
    'services',
    { PEER_HOST: '', AGENT_PORT: '' },
    { file: here('../../src/gateway.js') }
  )
  const sid = await openSession(closed.url)
  for (const machine of [first, second]) {
    assert.deepEqual(await poll(machine.url, sid), { status: 400, text: '{"code":1,"message":"Session ID unknown"}' })
    const upgrade = await fetch(`${machine.url}/socket.io/?EIO=4&transport=websocket&sid=${sid}`)
    assert.equal(upgrade.status, 400)
  }
  assert.equal((await poll(closed.url, sid, { method: 'POST', body: '40{}' })).status, 200, 'its own machine knows it')
  await closed.stop()
})

test(
  'a machine that loses its network loses no record, and its sessions end',
  { skip, timeout: 270_000 },
  async (t) => {
    const options = await asUser()
    const staying = await workersOf(t, second.url, 1, options)
    const sid = await openSession(first.url)
    await nothingIsLost(
      t,
      { url, publisher: second, options },
      () => hosts.machine1.unplug(),
      (clients) => clients.every((client) => staying.has(workerOf(client)))
    )
    // while its owner is unreachable but not given up, a poll would be held until the next ping
    assert.equal((await poll(second.url, sid, { signal: AbortSignal.timeout(20_000) })).status, 400)
  }
)

test('a machine whose network is restored is used again', { skip, timeout: 270_000 }, async (t) => {
  await waitFor(async () => (await redis.zcount('inkcast:{workers}:expiry', Date.now(), '+inf')) === 1, {
    timeout: 15_000,
    message: 'its worker numbers to be free'
  })
  await hosts.machine1.plugIn()
  await waitFor(first.ready, { timeout: 60_000, message: 'the machine to be ready' })
  assert.equal(
    await redis.zcount('inkcast:{workers}:expiry', Date.now(), '+inf'),
    3,
    'a ready machine holds its worker numbers'
  )
  const workers = await workersOf(t, first.url, 2, await asUser())
  await waitFor(async () => workers.has(workerOf(await connectClient(t, url, await asUser()))), {
    timeout: 15_000,
    message: 'a client on this machine'
  })
  await everyKindWorks(t, { url, machines: [first, second], options: await asUser() })
})
