import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore } from '../../client/outbox/memory-store.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { startClient } from '../helpers/inkcast-client.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { seededRandom } from '../helpers/random.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

/** Rounds of edits; after each something breaks. */
const ROUNDS = 24
/** Pages of one user that have the document open. */
const PAGES = 3
const SEED = Number(process.env.SEED ?? 17)

const REDIS_URL = await ownRedisUrl(fileScope())

test(
  `queued edits arrive once and in order through killed workers, a dead server and ended pages (SEED=${SEED})`,
  { timeout: 240_000 },
  async (t) => {
    const env = {
      WORKERS: '2', PORT: String(await freePort()), REDIS_URL, HISTORY_SIZE: '10000', MAX_EVENTS_PER_SECOND: '10000'
    }
    let cluster = await startCluster(t, env)
    const { url } = cluster
    const random = seededRandom(SEED)
    const some = (/** @type {number} */ limit) => Math.floor(random() * limit)
    const outbox = { user: 'ada', store: memoryStore() }
    let [edits, opened] = [0, 0]

    async function openPage () {
      const client = startClient(t, url, { outbox })
      return { client, number: ++opened, doc: await client.open('edited') }
    }
    /** @type {Awaited<ReturnType<typeof openPage>>[]} */
    const pages = []
    for (let i = 0; i < PAGES; i++) pages.push(await openPage())

    /** In the process table for a moment longer. @type {Set<number>} */
    const killed = new Set()
    /** @type {Record<string, () => unknown>} */
    const faults = {
      drop: () => pages[some(PAGES)].client.drop(some(300)),
      async kill () {
        const workers = (await childrenOf(cluster.pid)).filter(({ role, pid }) => role === 'gateway' && !killed.has(pid))
        if (workers.length === 0) return
        const { pid } = workers[some(workers.length)]
        killed.add(pid)
        process.kill(pid, 'SIGKILL')
      },
      async reload () {
        const at = some(PAGES)
        pages[at].client.close()
        pages[at] = await openPage()
      },
      async server () {
        // so that it starts no others meanwhile
        process.kill(cluster.pid, 'SIGSTOP')
        const pids = [...(await childrenOf(cluster.pid)).map(({ pid }) => pid), cluster.pid]
        for (const pid of pids) process.kill(pid, 'SIGKILL')
        // until then they have the port
        await waitFor(() => !pids.some(isAlive), { timeout: 20_000, message: 'their end' })
        cluster = await startCluster(t, env)
      }
    }
    /** Edits that were stored before their page ended, or was not closed. @type {Set<number>} */
    const queued = new Set()
    const { add } = outbox.store
    outbox.store.add = async (key, queue, edit) => {
      await add(key, queue, edit)
      queued.add(/** @type {any} */ (edit.data).n)
    }
    for (let round = 1; round <= ROUNDS; round++) {
      for (const { doc, number } of pages)
        for (let i = some(40); i > 0; i--) doc.send({ n: ++edits, page: number }, { queue: true }).catch(() => {})
      // in the middle of sending
      await new Promise((resolve) => setTimeout(resolve, some(30)))
      const names = ['drop', 'kill', 'reload']
      await faults[round % 8 === 0 ? 'server' : names[some(names.length)]]()
    }
    await waitFor(() => pages.every(({ doc }) => doc.pending.length === 0), {
      timeout: 60_000, message: () => pages.map(({ client, doc }) => [client.state, doc.pending.length])
    })

    /** @type {{ n: number, page: number }[]} */
    const arrived = []
    const [{ doc }] = pages
    for (let before; ;) {
      const { records, more } = await doc.history({ before, limit: 100 })
      arrived.unshift(...records.map(({ payload }) => payload))
      before = records[0]?.meta.offset
      if (!more) break
    }
    assert.ok(queued.size > 500, `${queued.size} edits`)
    assert.deepEqual(arrived.map(({ n }) => n).sort((a, b) => a - b), [...queued].sort((a, b) => a - b))
    for (let page = 1; page <= opened; page++) {
      const order = arrived.filter((edit) => edit.page === page).map(({ n }) => n)
      assert.deepEqual(order, order.toSorted((a, b) => a - b), `order of page ${page}`)
    }
  }
)
