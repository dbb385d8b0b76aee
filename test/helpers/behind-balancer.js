import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { certificate } from './balancer.js'
import { connectClient, createClient } from './clients.js'
import { sum } from './metrics-text.js'
import { publishOnce } from './post.js'
import { smuggleNothing } from './smuggling.js'
import { waitFor } from './wait.js'

/**
 * Requirements that hold behind any load balancer, wherever the gateways run.
 *
 * @typedef {import('node:test').TestContext} TestContext
 * @typedef {Awaited<ReturnType<typeof connectClient>>} Client
 * @typedef {Awaited<ReturnType<typeof import('./cluster.js').startCluster>>} Cluster
 * @typedef {Pick<Cluster, 'url' | 'metrics' | 'post'>} Machine
 */

const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))
const { ca, certFile, keyFile } = certificate

/** Each choice of transports, with each codec. */
export const KINDS = [['websocket'], ['polling'], ['polling', 'websocket']].flatMap((transports) =>
  /** @type {const} */ (['json', 'msgpack']).map((codec) => ({ transports, codec })))

/** Worker number of a connection id. @param {{ id?: string }} client */
export const workerOf = (client) => String(client.id?.slice(0, 2))

/** @param {Client} client */
const describe = (client) =>
  `${workerOf(client)} ${client.connected ? transportOf(client) : 'gone'} ${client.received.length}`

/** @param {Client} client */
export const transportOf = (client) => client.io.engine.transport.name

/**
 * Connects `each` clients of every kind and waits until they have upgraded where possible.
 * @param {TestContext} t
 * @param {string} url of the balancer
 * @param {{ each?: number, options?: Parameters<typeof connectClient>[2] }} [more]
 */
export async function connectAllKinds (t, url, { each = 3, options } = {}) {
  const clients = await Promise.all(
    KINDS.flatMap((kind) => Array.from({ length: each }, () => connectClient(t, url, { ...kind, ...options })))
  )
  const expected = KINDS.flatMap(({ transports }) =>
    Array.from({ length: each }, () => transports[transports.length - 1])
  )
  await waitFor(() => clients.every((client, i) => transportOf(client) === expected[i]), {
    timeout: 15_000,
    message: () => clients.map((client) => transportOf(client))
  })
  return clients
}

/**
 * @param {readonly Client[]} clients
 * @param {string} guid
 */
export async function joinAll (clients, guid) {
  const answers = await Promise.all(clients.map((client) => client.ask('doc:join', { guid })))
  assert.deepEqual(answers.filter(({ ok }) => !ok), [])
}

/**
 * The gateways and balancers of a test file, with TLS terminated and passed through.
 *
 * @template M, B
 * @typedef {object} Scene
 * @property {M} first
 * @property {M} second
 * @property {M[]} alone two gateways that terminate TLS themselves, each without a launcher, as in a container
 * @property {B} terminating terminates TLS, in front of the first and the second
 * @property {B} passing passes TLS through to the gateways of `alone`
 */

/**
 * Starts a scene before the tests of a file, and defines the tests that every balancer must pass. Call it at the top
 * level.
 *
 * @template {Cluster} M
 * @template {{ url: string, plainUrl: string }} B
 * @param {object} options
 * @param {string} options.name of the balancer
 * @param {string | false} options.skip reason why the balancer cannot be tested here
 * @param {(env: Record<string, string>, options?: { file: string }) => Promise<M>} options.startMachine
 * @param {(machines: readonly M[], kind: 'terminate' | 'passthrough') => Promise<B>} options.startBalancer
 * @param {Record<string, string>} [options.settings] of the first and the second
 * @returns {Scene<M, B>} empty until the tests begin
 */
export function testBehind ({ name, skip, startMachine, startBalancer, settings }) {
  const scene = /** @type {Scene<M, B>} */ ({})
  before(async () => {
    if (skip) return
    const tls = { TLS_FILES: `cert:${certFile},key:${keyFile}` }
    const machine = { WORKERS: '1', ...settings }
    ;[scene.first, scene.second, ...scene.alone] = await Promise.all([
      startMachine(machine),
      startMachine(machine),
      startMachine(tls, { file: GATEWAY }),
      startMachine(tls, { file: GATEWAY })
    ])
    scene.terminating = await startBalancer([scene.first, scene.second], 'terminate')
    scene.passing = await startBalancer(scene.alone, 'passthrough')
  }, { timeout: 90_000 })

  test(
    `clients of every kind work behind ${name} that terminates TLS and distributes requests round-robin`,
    { skip, timeout: 120_000 },
    async (t) => {
      const machines = [scene.first, scene.second]
      const balanced = { url: scene.terminating.url, machines, options: { ca } }
      await everyKindWorks(t, balanced)
      await requestsAreForwarded(t, balanced)
    }
  )

  test('a request without TLS is redirected to TLS', { skip }, async () => {
    const { plainUrl } = scene.terminating
    const answer = await fetch(`${plainUrl}/socket.io/?EIO=4&transport=polling`, { redirect: 'manual' })
    assert.equal(answer.status, 308)
    assert.equal(answer.headers.get('location'), `https://${new URL(plainUrl).host}/socket.io/?EIO=4&transport=polling`)
  })

  test(`no request in the body of another one reaches a worker behind ${name}`, { skip, timeout: 120_000 }, async (t) => {
    const sent = await smuggleNothing(scene.terminating.url, [scene.first, scene.second], ca)
    t.diagnostic(`${sent} requests`)
  })

  test(`clients of every kind work behind ${name} that passes TLS through`, { skip, timeout: 120_000 }, async (t) => {
    const machines = scene.alone.map((machine) => ({ ...machine, post: scene.first.post }))
    await everyKindWorks(t, { url: scene.passing.url, machines, options: { ca } })
  })

  return scene
}

/**
 * Kills one of the gateways that run alone.
 * @param {TestContext} t
 * @param {Scene<Cluster, { url: string }>} scene
 */
export async function killingCostsNothing (t, { alone: [victim, other], second, passing }) {
  const staying = await workersOf(t, other.url, 1, { ca })
  await nothingIsLost(t, { url: passing.url, publisher: second, options: { ca } }, async () => {
    process.kill(victim.pid, 'SIGKILL')
    await victim.exited
  }, (clients) => clients.every((client) => staying.has(workerOf(client))))
}

/**
 * Stops the first machine: its clients move to the second and miss nothing, and it gets no new connections.
 * @param {TestContext} t
 * @param {Scene<Cluster, { url: string }>} scene
 * @param {() => Promise<unknown>} [noticed] resolves when the balancer has detected it
 * @returns {Promise<Set<string>>} worker of the second
 */
export async function stoppingCostsNothing (t, { first, second, terminating: { url } }, noticed) {
  const staying = await workersOf(t, second.url, 1)
  await nothingIsLost(t, { url, publisher: second, options: { ca } }, async () => {
    assert.deepEqual(await first.stop(), { code: 0, signal: null })
  }, (clients) => clients.every((client) => staying.has(workerOf(client))))
  await noticed?.()
  // on a busy machine a balancer's health check of the second fails now and then
  const during = await waitFor(() => Promise.all(
    Array.from({ length: 8 }, (_, i) => connectClient(t, url, { ca, transports: [i % 2 ? 'polling' : 'websocket'] }))
  ), { timeout: 20_000 })
  assert.deepEqual(during.filter((client) => !staying.has(workerOf(client))), [])
  return staying
}

/**
 * Clients of every kind on all machines receive each other's signals and published records.
 * @param {TestContext} t
 * @param {{ url: string, machines: readonly Machine[], options?: Parameters<typeof connectClient>[2] }} balanced
 */
export async function everyKindWorks (t, { url, machines, options }) {
  const guid = `balanced-${randomUUID()}`
  /** @type {Client[]} */
  let clients = []
  /** @type {number[]} */
  let used = []
  // on a busy machine a balancer's health check fails now and then, and the other machine gets all connections
  await waitFor(async () => {
    for (const client of clients) client.disconnect()
    clients = await connectAllKinds(t, url, { options })
    used = await Promise.all(machines.map(async (machine) => sum(await machine.metrics(), 'inkcast_connections')))
    return used.every((count) => count > 0)
  }, { timeout: 60_000, message: () => `each machine has connections: ${used}` })
  await joinAll(clients, guid)

  await publishOnce(machines[0], guid, { text: 'größer' })
  await waitFor(() => clients.every(({ received }) => received.length === 1), {
    timeout: 15_000,
    message: () => clients.map(describe)
  })
  for (const { received: [record] } of clients)
    assert.deepEqual(
      { payload: record.payload, offset: record.meta.offset },
      { payload: { text: 'größer' }, offset: 1 }
    )

  // The largest allowed value; with its envelope it exceeds nginx's default limit of 1 MiB. The sender is a polling
  // client, because it has to send the value in requests.
  const polling = /** @type {Client} */ (clients.find((client) => transportOf(client) === 'polling'))
  const large = 'x'.repeat(1_048_560)
  assert.equal((await polling.ask('doc:signal', { guid, event: 'large', data: large })).ok, true)
  const others = clients.filter((client) => client !== polling)
  await waitFor(() => others.every(({ received }) => received.length === 2), {
    timeout: 15_000,
    message: () => others.map(describe)
  })
  for (const { received } of others) assert.equal(received[1].payload === large, true)
  assert.equal(polling.received.length, 1)
}

/**
 * Each machine forwards requests of sessions that the other machine owns.
 *
 * HAProxy's agent gives a machine whose event loop is busy, as it is right after its start, down to 1 % of the other's
 * weight, so one of them may get hardly any request of the first clients. Clients connect until both have forwarded.
 * @param {TestContext} t
 * @param {{ url: string, machines: readonly Machine[], options?: Parameters<typeof connectClient>[2] }} balanced
 */
export async function requestsAreForwarded (t, { url, machines, options }) {
  /** @type {number[]} */
  let forwarded = []
  await waitFor(async () => {
    forwarded = await Promise.all(machines.map(async (machine) =>
      sum(await machine.metrics(), 'inkcast_stray_requests_total', 'result="forwarded"')))
    if (forwarded.every((count) => count > 0)) return true
    for (const client of await connectAllKinds(t, url, { each: 1, options })) client.disconnect()
    return false
  }, { timeout: 60_000, message: () => `each machine has forwarded requests: ${forwarded}` })
}

/**
 * Clients of every kind get every record, once and in order, while `change` is made to the machines.
 * @param {TestContext} t
 * @param {object} balanced
 * @param {string} balanced.url
 * @param {Machine} balanced.publisher a machine that keeps running
 * @param {Parameters<typeof connectClient>[2]} [balanced.options]
 * @param {() => Promise<unknown>} change
 * @param {(clients: readonly Client[]) => boolean} settled condition for the end of the change
 */
export async function nothingIsLost (t, { url, publisher, options }, change, settled) {
  const guid = `moved-${randomUUID()}`
  const clients = KINDS.flatMap((kind) => [0, 1].map(() => createResuming(t, url, guid, { ...kind, ...options })))
  const joined = () => clients.every((client) => client.connected && client.positions.has(guid))
  await waitFor(joined, { timeout: 15_000, message: () => clients.map(({ connected }) => connected) })

  let publishing = true
  let count = 0
  const publish = async () => {
    await publishOnce(publisher, guid, count)
    count++
  }
  const published = (async () => {
    while (publishing) {
      await publish()
      await delay(20) // a steady stream rather than the maximum rate
    }
  })()
  try {
    await waitFor(() => clients.every(({ received }) => records({ received }).length > 3), {
      message: 'the first records'
    })
    await change()
    await waitFor(() => settled(clients) && clients.every(({ connected }) => connected), {
      timeout: 20_000, message: () => clients.map((client) => `${workerOf(client)} ${client.connected}`)
    })
  } finally {
    publishing = false
    await published
  }
  await publish()
  await waitFor(() => clients.every((client) => records(client).at(-1)?.payload === count - 1), {
    timeout: 15_000, message: () => ({ count, got: clients.map((client) => records(client).length) })
  })
  const all = Array.from({ length: count }, (_, i) => i)
  for (const client of clients) assert.deepEqual(records(client).map(({ payload }) => payload), all)
  assert.deepEqual(clients.flatMap(({ received }) => received.filter(({ event }) => event === 'doc:resync')), [])
  return clients
}

/** @param {Pick<Client, 'received'>} client */
const records = ({ received }) => received.filter(({ event }) => event === 'message')

/**
 * A client that reconnects quickly and resumes.
 * @param {TestContext} t
 * @param {string} url
 * @param {string} guid
 * @param {Parameters<typeof createClient>[2]} options
 */
function createResuming (t, url, guid, options) {
  /** @type {Map<string, { epoch: string, offset: number }>} */
  const positions = new Map()
  const auth = (/** @type {Function} */ send) =>
    send({ ...options?.auth, documents: { [guid]: positions.get(guid) ?? null } })
  const client = Object.assign(createClient(t, url, { ...options, auth, reconnection: true }), { positions })
  client.io.reconnectionDelay(50)
  client.io.reconnectionDelayMax(500)
  client.on('doc:joined', ({ position }) => { positions.set(guid, position) })
  client.on('message', (_payload, { offset }) => {
    const position = positions.get(guid)
    if (position) position.offset = offset
  })
  return client
}

/**
 * The numbers of a machine's workers.
 * @param {TestContext} t
 * @param {string} url of the machine itself
 * @param {number} count
 * @param {Parameters<typeof connectClient>[2]} [options]
 * @returns {Promise<Set<string>>}
 */
export async function workersOf (t, url, count, options) {
  const workers = new Set()
  for (let tries = 0; workers.size < count && tries < 100; tries++) {
    const client = await connectClient(t, url, options)
    workers.add(workerOf(client))
    client.disconnect()
  }
  assert.equal(workers.size, count, `workers of ${url}`)
  return workers
}
