import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

for (const workers of [2, 5]) {
  test(`in a reload of ${workers} workers each client moves once and misses nothing, and all accept again`, {
    timeout: 180_000
  }, async (t) => {
    const cluster = await startCluster(t, { WORKERS: String(workers), REDIS_URL: redisUrl(), DRAIN_TIMEOUT: '4000' })
    const guid = randomUUID()
    let moves = 0
    const clients = Array.from({ length: 200 }, () => {
      /** @type {any} */
      let position
      const client = createClient(t, cluster.url, {
        reconnection: true,
        auth: (/** @type {(auth: object) => void} */ send) => send({ documents: { [guid]: position ?? null } })
      })
      /** @type {number[]} */
      const got = []
      client.on('doc:joined', (answer) => { position = answer.position })
      client.on('message', (payload, { offset }) => {
        got.push(payload)
        position.offset = offset
      })
      client.on('disconnect', () => { moves++ })
      return Object.assign(client, { got, hasJoined: () => client.connected && position !== undefined })
    })
    const workerOf = (/** @type {typeof clients[number]} */ { id }) => String(id).slice(0, 2)
    const joined = () => clients.filter(({ hasJoined }) => hasJoined()).length
    await waitFor(() => joined() === clients.length, { timeout: 30_000, message: joined })
    const gateways = async () => (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway').map(({ pid }) => pid)
    const before = await gateways()
    let sent = 0
    let more = true
    t.after(() => { more = false })
    const published = (async () => {
      while (more) {
        // on a connection of its own: the api closes idle ones when it stops, and this process may be late to see it
        const { status } = await cluster.post(`/v1/documents/${guid}/broadcast`, sent, { connection: 'close' })
        assert.equal(status, 202)
        sent++
        await delay(50)
      }
    })()

    process.kill(cluster.pid, 'SIGHUP')
    await waitFor(async () => {
      const now = await gateways()
      return now.length === workers && !now.some((pid) => before.includes(pid))
    }, { timeout: 120_000, message: 'the reload' })
    more = false
    await published
    const all = Array.from({ length: sent }, (_, i) => i)
    await waitFor(() => clients.every(({ got }) => got.length === sent), {
      timeout: 20_000, message: () => `${sent}: ${clients.map(({ got }) => got.length)}`
    })
    for (const { got } of clients) assert.deepEqual(got, all, 'once and in order')
    // the last to move may have got all records before it moved
    await waitFor(() => joined() === clients.length, { message: joined })

    t.diagnostic(`${moves / clients.length} moves per client`)
    assert.ok(moves <= 1.05 * clients.length, `${moves} moves of ${clients.length} clients`)
    const after = clients.map(workerOf)
    // all of them accept again
    const late = Array.from({ length: 40 * workers }, () => createClient(t, cluster.url))
    await waitFor(() => late.every(({ connected }) => connected), { timeout: 20_000 })
    const reached = new Set([...after, ...late.map((client) => String(client.id).slice(0, 2))])
    assert.equal(reached.size, workers, [...reached].join(' '))
  })
}
