import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { freePorts } from '../services/ports.js'
import { connectionsFor } from '../../src/process/descriptors.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
/**
 * Descriptors of each process. Earlier versions of Node.js read modules concurrently, and need more to start.
 */
const DESCRIPTORS = Number(process.versions.node.split('.')[0]) < 24 ? 240 : 120

test(
  'with 120 descriptors for each process, clients that hold all they can get leave Redis, the api and the admin port alone',
  { timeout: 240_000 },
  async (t) => {
    const [PORT, API_PORT, ADMIN_PORT] = (await freePorts(3)).map(String)
    const cluster = await startCluster(t, { WORKERS: '1', REDIS_URL, DRAIN_TIMEOUT: '500', PORT, API_PORT, ADMIN_PORT }, {
      host: {
        command: ([node, ...args]) => ['sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`, node, ...args],
        door: async (port) => port
      }
    })
    const limit = connectionsFor(DESCRIPTORS)
    const clients = await Promise.all(Array.from({ length: limit }, () => connectClient(t, cluster.url)))
    const silent = Array.from({ length: 300 }, () => connect(Number(PORT), '127.0.0.1').on('error', () => {}))
    t.after(() => { for (const socket of silent) socket.destroy() })
    await waitFor(() => silent.filter(({ closed }) => closed).length >= 200, {
      timeout: 20_000, message: () => `${silent.filter(({ closed }) => closed).length} were closed`
    })
    for (let i = 0; i < 3; i++) {
      assert.equal((await fetch(`${cluster.adminUrl}/live`)).status, 200)
      assert.match(await cluster.metrics(), new RegExp(`^inkcast_connections\\{.*\\} ${limit}$`, 'm'))
      assert.equal(await cluster.ready(), true)
      const answer = await fetch(`${cluster.url}/socket.io/?EIO=4&transport=polling`, { headers: { connection: 'close' } })
      assert.deepEqual([answer.status, Number(answer.headers.get('retry-after')) >= 1], [503, true])
      assert.equal((/** @type {any} */ (await answer.json())).code, 'too_many_connections')
    }
    // over Redis
    for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'document' })).ok, true)
    assert.equal((await cluster.post('/v1/documents/document/broadcast', 1)).status, 202)
    await waitFor(() => clients.every(({ received }) => received.length === 1), { timeout: 20_000 })
  }
)
