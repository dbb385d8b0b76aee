import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import msgpackParser from 'socket.io-msgpack-parser'
// no world reads files
import '../helpers/rooms-extension.js'

/** Rooms of extensions, while a worker or Redis is gone and afterwards. */

const env = { EXTENSIONS: fileURLToPath(new URL('../helpers/rooms-extension.js', import.meta.url)) }
const OUTAGE = 30_000

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */
/** @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} Client */

/** @param {Client} client @param {string} operation @param {object} [options] */
const run = (client, operation, options = {}) => client.ask('op', operation, options)

/**
 * Clients on both workers that join a room whenever they connect, as front ends do it.
 * @param {ScriptedCluster} cluster
 */
async function clientsInRoom (cluster) {
  const clients = []
  for (let i = 0; i < 6; i++) {
    const socket = i % 2 ? {} : { parser: msgpackParser }
    const client = await cluster.connect(`user-${i}`, { on: cluster.gateways[i % 2], socket })
    const join = () => { client.emit('op', 'join', { rooms: ['lobby'] }, () => {}) }
    client.socket?.on('connect', join)
    join()
    clients.push(client)
  }
  return clients
}

let events = 0

/**
 * An emit to the room, fetchSockets and serverSideEmitWithAck work over all workers.
 * @param {ScriptedCluster} cluster
 * @param {Client[]} clients
 */
async function assertWorks (cluster, clients) {
  const event = `event-${++events}`
  await cluster.until(() => clients.every(({ connected }) => connected))
  await cluster.pass(2000)
  assert.equal((await run(clients[0], 'fetch', { to: ['lobby'] })).length, clients.length)
  await run(clients[0], 'emit', { to: ['lobby'], event, args: [] })
  await cluster.until(() => clients.every((client) => client.got(event).length === 1))
  assert.equal((await run(clients[0], 'serverSideEmitWithAck', { event: 'who', args: [1] })).length, 1)
  const ask = { to: ['lobby'], timeout: 5000, event: `${event}-asked`, args: [] }
  assert.equal((await run(clients[0], 'emitWithAck', ask)).length, clients.length)
}

test('a worker that is killed takes no room with it', () => inCluster({ env }, async (cluster) => {
  const clients = await clientsInRoom(cluster)
  await assertWorks(cluster, clients)
  for (const slot of cluster.gateways) {
    const before = clients.map(({ ends }) => ends.length)
    cluster.kill(slot)
    await cluster.until(() => clients.some(({ ends }, i) => ends.length > before[i]))
    await cluster.until(() => cluster.cluster.isReady)
    await assertWorks(cluster, clients)
  }
}))

test('rooms work again when Redis is back after 30 s', () => inCluster({ env }, async (cluster) => {
  const clients = await clientsInRoom(cluster)
  await assertWorks(cluster, clients)
  const processes = cluster.gateways.map(({ running }) => running.process)
  const near = clients.filter((client) => cluster.slotOf(client) === cluster.slotOf(clients[0]))
  const [redis] = cluster.redis.servers
  redis.restart(redis.store.snapshot(), OUTAGE)
  const end = cluster.time + OUTAGE
  for (let i = 0; cluster.time < end; i++) {
    // clients of the same worker are reached; what needs other workers fails with a timeout
    const event = `during-${i}`
    await run(clients[0], 'emit', { to: ['lobby'], event, args: [] })
    await cluster.until(() => near.every((client) => client.got(event).length === 1))
    if (i === 0) {
      assert.match((await run(clients[0], 'serverSideEmitWithAck', { event: 'who', args: [1] })).error, /timeout/)
      assert.match((await run(clients[0], 'fetch', { to: ['lobby'] })).error, /timeout/)
      const ask = { to: ['lobby'], timeout: 500, event: 'ignored', args: [] }
      assert.match((await run(clients[0], 'emitWithAck', ask)).error, /timed out/)
    }
    await run(clients[0], 'socketsJoin', { to: ['lobby'], rooms: ['other'] })
    await run(clients[0], 'serverSideEmit', { args: [event] })
    await cluster.pass(3000)
  }
  await assertWorks(cluster, clients)
  assert.ok(processes.every(({ isAlive }) => isAlive), 'nothing was restarted')
}))
