import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { upgraded } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { sum } from '../helpers/metrics-text.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { rawConnection, textFrame, upgradeRequest } from '../helpers/pinned.js'
import { waitFor } from '../helpers/wait.js'

const REDIS_URL = await ownRedisUrl(fileScope())

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** @param {Cluster} cluster @param {string} result @returns {Promise<number>} */
const misroutedTotal = async (cluster, result) =>
  sum(await cluster.metrics(), 'inkcast_stray_requests_total', `result="${result}"`)

describe('TLS', () => {
  const file = (/** @type {string} */ name) => fileURLToPath(new URL(`../helpers/tls/${name}`, import.meta.url))
  const scope = fileScope()
  /** @type {Cluster} */
  let cluster
  before(async () => {
    cluster = await startCluster(scope, {
      WORKERS: '2',
      REDIS_URL,
      TLS_FILES: `cert:${file('cert.pem')},key:${file('key.pem')}`
    })
  }, { timeout: 270_000 })

  /**
   * A session that upgrades to WebSocket through another worker.
   * @param {import('node:test').TestContext} t
   * @param {(worker: string) => boolean} [wanted] condition for the owner
   */
  async function tunnelled (t, wanted = () => true) {
    const owner = await rawConnection(t, cluster.url, wanted)
    owner.write('GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const sid =
      /"sid":"([\w-]{20})"/.exec(await owner.until((text) => /"sid":"[\w-]{20}"/.test(text), 'a session'))?.[1] ?? ''
    const other = await rawConnection(t, cluster.url, (worker) => worker !== owner.worker)
    other.write(upgradeRequest(sid))
    other.write(textFrame('2probe'))
    await other.until((text) => /^HTTP\/1.1 101 /.test(text) && text.endsWith('3probe'), 'the answer to the probe')
    other.write(Buffer.concat([textFrame('5'), textFrame('40')]))
    await other.until((text) => text.includes('40{"sid":'), 'the connection')
    return { owner, other }
  }

  test('an upgrade cannot be handed over, and is forwarded with all its bytes', { timeout: 90_000 }, async (t) => {
    const forwarded = await misroutedTotal(cluster, 'forwarded')
    const { other } = await tunnelled(t)
    other.write(textFrame(`421["doc:signal",{"guid":"none","event":"x","data":"${'y'.repeat(60_000)}"}]`))
    await other.until((text) => text.includes('431[{"ok":false'), 'the answer over WebSocket')
    assert.equal(await misroutedTotal(cluster, 'forwarded') - forwarded, 1)
    assert.equal(await misroutedTotal(cluster, 'handed_over'), 0)
  })

  test('stock clients that upgrade work', { timeout: 90_000 }, async (t) => {
    const forwarded = await misroutedTotal(cluster, 'forwarded')
    // until one client had requests at both workers
    await waitFor(async () => {
      await Promise.all(
        Array.from({ length: 16 }, () => upgraded(t, cluster.url, { ca: readFileSync(file('cert.pem')) }))
      )
      return await misroutedTotal(cluster, 'forwarded') > forwarded
    }, { timeout: 20_000, message: 'a misrouted request' })
    assert.equal(await misroutedTotal(cluster, 'handed_over'), 0)
  })

  test(
    'a worker that is replaced notifies clients whose WebSockets it forwards',
    { timeout: 180_000 },
    async (t) => {
      const one = await tunnelled(t)
      const another = await tunnelled(t, (worker) => worker !== one.owner.worker)
      process.kill(cluster.pid, 'SIGHUP')
      // for either order of replacement: one client is notified by its own worker, the other because its WebSocket goes
      // through that worker
      for (const { other } of [one, another])
        await other.until((text) => text.includes('42["gateway:draining",'), 'the news', 30_000)
    }
  )
})
