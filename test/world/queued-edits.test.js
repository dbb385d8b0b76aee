import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutboxStores } from '../simulation/parts/outbox-store.js'

/** Rounds of edits; after each something breaks. */
const ROUNDS = 12
/** Pages of one user that have the document open. */
const PAGES = 3

test('queued edits arrive once and in order through killed workers, a dead cluster and ended pages', () =>
  inCluster({ env: { HISTORY_SIZE: '10000', MAX_EVENTS_PER_SECOND: '10000' } }, async (cluster) => {
    const drawn = cluster.world.random.fork()
    const stores = new OutboxStores()
    let [edits, opened] = [0, 0]
    /** Edits that the browser has kept. @type {Set<number>} */
    const queued = new Set()

    async function openPage () {
      const page = cluster.page('ada', ({ process }) => ({
        outbox: { user: 'ada', store: stores.of('ada', process, ({ n }) => queued.add(n)) }
      }))
      return { page, number: ++opened, doc: await page.open('edited') }
    }
    /** @type {Awaited<ReturnType<typeof openPage>>[]} */
    const pages = []
    for (let i = 0; i < PAGES; i++) pages.push(await openPage())

    /** @type {Record<string, () => unknown>} */
    const faults = {
      drop: () => drawn.pick(pages).page.cut(),
      kill: () => cluster.kill(drawn.pick(cluster.gateways)),
      async reload () {
        const at = drawn.whole(0, PAGES - 1)
        pages[at].page.process.end(null)
        pages[at] = await openPage()
      },
      dead: () => { for (const slot of cluster.cluster.slots) cluster.kill(slot) }
    }
    for (let round = 1; round <= ROUNDS; round++) {
      for (const { page, doc, number } of pages)
        page.enter(() => {
          for (let i = drawn.whole(0, 20); i > 0; i--)
            doc.send({ n: ++edits, page: number }, { queue: true }).catch(() => {})
        })
      // in the middle of sending
      await cluster.pass(drawn.duration(100))
      await faults[round % 6 === 0 ? 'dead' : drawn.pick(['drop', 'kill', 'reload'])]()
    }
    await cluster.until(() => pages.every(({ doc }) => doc.pending.length === 0), {
      message: () => pages.map(({ page, doc }) => [page.client.state, doc.pending.length])
    })
    const { records } = (await cluster.request('GET', '/v1/documents/edited/history?limit=1000')).body
    const arrived = records.map((/** @type {any} */ { value }) => value)
    assert.ok(queued.size > 150, `${queued.size} edits`)
    assert.deepEqual(
      arrived.map((/** @type {any} */ { n }) => n).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b),
      [...queued].sort((a, b) => a - b))
    for (let page = 1; page <= opened; page++) {
      const order = arrived.filter((/** @type {any} */ edit) => edit.page === page).map((/** @type {any} */ { n }) => n)
      assert.deepEqual(order, order.toSorted((/** @type {number} */ a, /** @type {number} */ b) => a - b), `order of page ${page}`)
    }
  }))
