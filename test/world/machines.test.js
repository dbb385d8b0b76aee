import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROOF_HEADER, proofFor } from '../../src/transport/peers/request-proof.js'
import { createKeys } from '../../src/redis/keys.js'
import { tokenOf } from '../simulation/parts/page.js'
import { follow } from '../simulation/script/follower.js'
import { send } from '../simulation/script/send.js'

const { workers: WORKERS } = createKeys()

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} ScriptedClient
 */

const PATH = '/socket.io/?EIO=4&transport=polling'

/**
 * A request of the polling transport without a client library, on a connection of its own.
 * @param {ScriptedCluster} cluster
 * @param {string} host a machine
 * @param {string} [sid]
 * @param {import('node:http').RequestOptions & { body?: string }} [options]
 */
const poll = (cluster, host, sid, options) => cluster.act(cluster.outside('browser'), () => send({
  host, port: 3000, path: sid === undefined ? PATH : `${PATH}&sid=${sid}`, agent: false, ...options
}))

/** @param {ScriptedCluster} cluster @param {string} host @returns {Promise<string>} its id */
async function openSession (cluster, host) {
  const { status, text } = await poll(cluster, host)
  assert.equal(status, 200, text)
  return JSON.parse(text.slice(1)).sid
}

/** @param {ScriptedCluster} cluster @param {string} machine */
const gatewaysOf = (cluster, machine) => cluster.gateways.filter(({ name }) => name.startsWith(`${machine}/`))

const UNKNOWN = { status: 400, text: '{"code":1,"message":"Session ID unknown"}' }

test('a session of one machine is served by each worker of the other, request by request', () =>
  inCluster({ machines: 2 }, async (cluster) => {
    for (const [owner, other] of [['m1', 'm2'], ['m2', 'm1']]) {
      for (let i = 0; i < 8; i++) {
        const sid = await openSession(cluster, owner)
        const body = `40${JSON.stringify({ token: tokenOf('by-hand') })}`
        assert.deepEqual(await poll(cluster, other, sid, { method: 'POST', body }), { status: 200, text: 'ok' })
        const answer = await poll(cluster, other, sid)
        assert.equal(answer.status, 200)
        assert.match(answer.text, /^40\{"sid":"/)
      }
    }
  }))

test('with a path of its own, sessions are served by the workers of each machine, and the first path is unknown', () =>
  inCluster({ machines: 2, env: { SOCKET_PATH: '/realtime/' } }, async (cluster) => {
    const path = '/realtime/?EIO=4&transport=polling'
    for (const [owner, other] of [['m1', 'm2'], ['m2', 'm1']]) {
      for (let i = 0; i < 4; i++) {
        const opened = await poll(cluster, owner, undefined, { path })
        const sid = JSON.parse(opened.text.slice(1)).sid
        const own = { path: `${path}&sid=${sid}` }
        const body = `40${JSON.stringify({ token: tokenOf('by-hand') })}`
        assert.deepEqual(await poll(cluster, other, sid, { method: 'POST', body, ...own }), { status: 200, text: 'ok' })
        assert.match((await poll(cluster, owner, sid, own)).text, /^40\{"sid":"/)
        assert.equal((await poll(cluster, other, sid)).status, 404)
      }
    }
    for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
      const page = await cluster.connect('ada', { transports, socket: { path: '/realtime/' } })
      assert.equal((await page.ask('doc:join', { guid: 'd' })).ok, true)
    }
  }))

test('clients of every kind on two machines get each other\'s signals, and published records in order', () =>
  inCluster({ machines: 2 }, async (cluster) => {
    /** @type {ScriptedClient[]} */
    const pages = []
    for (let i = 0; i < 12; i++)
      pages.push(await cluster.connect(`user-${i}`, { transports: [['websocket'], ['polling'], ['polling', 'websocket']][i % 3] }))
    for (const page of pages) assert.equal((await page.ask('doc:join', { guid: 'd' })).ok, true)
    for (const at of ['m1', 'm2'])
      assert.equal((await cluster.request('POST', '/v1/documents/d/broadcast', { value: at, at })).status, 202)
    await cluster.until(() => pages.every((page) => page.got('message').length === 2))
    assert.deepEqual(new Set(pages.map((page) => page.got('message').join())), new Set(['m1,m2']))
    // a sender on each transport
    for (const [i, sender] of pages.slice(0, 3).entries()) {
      const event = `cursor-${i}`
      assert.equal((await sender.ask('doc:signal', { guid: 'd', event, data: i })).ok, true)
      await cluster.until(() => pages.every((page) => page === sender || page.got(event).length === 1))
      assert.deepEqual(sender.got(event), [])
    }
  }))

test('kick disconnects a user on both machines, from either one', () => inCluster({ machines: 2 }, async (cluster) => {
  /** @type {ScriptedClient[]} */
  const tabs = []
  for (const on of cluster.gateways) {
    for (const transports of [['websocket'], ['polling']]) {
      // the requests of a polling client reach both machines, whichever has its session
      const place = transports[0] === 'websocket' ? { on } : {}
      tabs.push(await cluster.connect('ada', { ...place, transports, socket: { reconnection: false } }))
    }
  }
  const stranger = await cluster.connect('bob')
  await cluster.takesOrders()
  assert.equal((await cluster.request('DELETE', '/v1/users/ada/connections', { at: 'm1' })).status, 202)
  await cluster.until(() => tabs.every((tab) => tab.ends.length === 1))
  for (const tab of tabs) {
    assert.deepEqual(tab.got('gateway:disconnect').map(({ code }) => code), ['kicked'])
    assert.deepEqual(tab.ends, ['io server disconnect'])
  }
  assert.equal(stranger.connected, true)
}))

test('the listener for other machines serves only them', () => inCluster({
  machines: 2, workers: 1, env: { PEER_PORT: '3100' }
}, async (cluster) => {
  const sid = await openSession(cluster, 'm2')
  const path = `${PATH}&sid=${sid}`
  const secret = String(await cluster.command('GET', WORKERS.secret))
  assert.ok(secret.length >= 43, 'the secret of the cluster')
  const ask = (/** @type {Record<string, string>} */ headers) =>
    poll(cluster, 'm2', sid, { port: 3100, method: 'POST', body: '40{}', headers })
  const now = () => Math.floor(cluster.world.wall)
  const proof = (/** @type {string} */ secret, method = 'POST', url = path, at = now()) =>
    ({ [PROOF_HEADER]: proofFor(secret, method, url, at) })
  const refused = { status: 403, text: '' }

  assert.deepEqual(await ask({}), refused)
  assert.deepEqual(await ask({ [PROOF_HEADER]: 'nonsense' }), refused)
  assert.deepEqual(await ask(proof('a made-up secret')), refused)
  assert.deepEqual(await ask(proof(secret, 'GET')), refused, 'for another method')
  assert.deepEqual(await ask(proof(secret, 'POST', path.replace(sid, 'another'))), refused, 'for another session')
  assert.deepEqual(await ask(proof(secret, 'POST', path, now() - 60_000)), refused, 'a minute old')
  assert.deepEqual(await ask(proof(secret, 'POST', path, now() + 60_000)), refused, 'from the future')
  const status = cluster.act(cluster.outside('browser'), () => send({ host: 'm2', port: 3100, path: '/status' }))
  assert.equal((await status).status, 404)
  assert.deepEqual(await ask(proof(secret)), { status: 200, text: 'ok' })

  // the public listener ignores a proof header
  assert.equal((await poll(cluster, 'm1', sid, { headers: { [PROOF_HEADER]: 'nonsense' } })).status, 200)
}))

test('other machines reach a worker during its replacement, and its successor', () =>
  inCluster({ machines: 2, workers: 1 }, async (cluster) => {
    const [, slot] = cluster.gateways
    const before = slot.running
    const client = await cluster.connect('ada', { on: slot })
    cluster.cluster.reload(slot)
    await cluster.until(() => slot.running !== before && slot.running.isReady)
    // both run: the one before still has to move its client
    assert.equal(before.process.isAlive, true)
    for (let i = 0; i < 6; i++) {
      const sid = await openSession(cluster, 'm2')
      assert.deepEqual(await poll(cluster, 'm1', sid, { method: 'POST', body: '40{}' }), { status: 200, text: 'ok' })
    }
    await cluster.until(() => !before.process.isAlive && client.connected)
    const sid = await openSession(cluster, 'm2')
    assert.deepEqual(await poll(cluster, 'm1', sid, { method: 'POST', body: '40{}' }), { status: 200, text: 'ok' })
  }))

test('sessions of a machine without PEER_HOST are unknown to others', () =>
  inCluster({ machines: 2, workers: 1, env: { PEER_HOST: '' } }, async (cluster) => {
    const sid = await openSession(cluster, 'm1')
    assert.deepEqual(await poll(cluster, 'm2', sid), UNKNOWN)
    const path = `/socket.io/?EIO=4&transport=websocket&sid=${sid}`
    assert.equal((await poll(cluster, 'm2', sid, { path })).status, 400)
    const own = await poll(cluster, 'm1', sid, { method: 'POST', body: '40{}' })
    assert.equal(own.status, 200, 'its own machine knows it')
  }))

test('a machine that loses its network loses no record and its sessions end; it is used again when it is back', () =>
  inCluster({ machines: 2 }, async (cluster) => {
    const { world, cluster: { machines: [lost] } } = cluster
    /** @type {import('../simulation/script/follower.js').Follower[]} */
    const members = []
    for (let i = 0; i < 9; i++) {
      const transports = [['websocket'], ['polling'], ['polling', 'websocket']][i % 3]
      members.push(await follow(cluster, `user-${i}`, ['d'], { transports }))
    }
    let count = 0
    const publish = async () => {
      assert.equal((await cluster.request('POST', '/v1/documents/d/broadcast', { value: count++, at: 'm2' })).status, 202)
    }
    await publish()
    const sid = await openSession(cluster, 'm1')

    world.network.block((a, b) => a.machine === lost && b.machine !== lost, 60_000)
    const until = cluster.time + 60_000
    while (cluster.time < until - 5000) {
      await publish()
      await cluster.pass(2000)
    }
    await cluster.until(() => members.every(({ page }) => page.connected), {
      message: () => members.map(({ page }) => [page.connected, ...page.failures, ...page.ends])
    })
    assert.ok(members.some(({ page }) => page.ends.length > 0) && members.some(({ page }) => page.ends.length === 0))
    assert.deepEqual(await poll(cluster, 'm2', sid), UNKNOWN)
    await publish()
    await cluster.until(() => members.every(({ values }) => values.get('d')?.length === count), {
      message: () => [count, members.map(({ values }) => values.get('d')?.length)]
    })
    for (const { values, resyncs } of members) {
      assert.deepEqual(values.get('d'), Array.from({ length: count }, (_, i) => i))
      assert.deepEqual(resyncs, [])
    }

    await cluster.pass(until + 15_000 - cluster.time)
    for (const on of gatewaysOf(cluster, 'm1')) {
      const page = await cluster.connect('later', { on })
      assert.equal((await page.ask('doc:join', { guid: 'd' })).ok, true)
    }
    const again = await openSession(cluster, 'm1')
    assert.deepEqual(await poll(cluster, 'm2', again, { method: 'POST', body: '40{}' }), { status: 200, text: 'ok' })
  }))
