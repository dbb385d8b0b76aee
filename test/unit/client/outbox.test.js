import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ClientError } from '../../../client/common/error.js'
import { DocumentQueue } from '../../../client/outbox/document-queue.js'
import { processLock } from '../../../client/outbox/locks.js'
import { memoryStore } from '../../../client/outbox/memory-store.js'
import { clientTime } from '../../helpers/client-time.js'
import { storeContract } from '../../helpers/outbox-store.js'
import { seededRandom } from '../../helpers/random.js'
import { settle } from '../../helpers/scripted-socket.js'

const SCHEDULES = 400
const STEPS = 50

describe('the store in memory', () => {
  for (const [name, run] of Object.entries(storeContract)) test(name, () => run(memoryStore(), assert.deepEqual))
})

/**
 * A gateway that follows docs/protocol-details.md, "Queued edits": its answers come when the test says so, or never.
 */
class Gateway {
  /** Data of the accepted edits. @type {any[]} */
  accepted = []
  available = true
  /** @type {Map<string, number>} */
  #marks = new Map()
  /** @type {{ connection: any, queue: { id: string, seq: number }, data: any, answer: any, refuse: any }[]} */
  #waiting = []

  /** @param {object} connection */
  send (connection) {
    return (/** @type {any} */ { queue, data }) => new Promise((resolve, reject) => {
      this.#waiting.push({ connection, queue, data, answer: resolve, refuse: reject })
    })
  }

  /**
   * Carries out some of the requests, in the order of each connection.
   * @param {number} count
   * @param {string} [failure] code of the refusal of all of them
   * @param {number} [retryInMs] of this refusal, which is for a time
   */
  work (count, failure, retryInMs) {
    for (const { connection, queue, data, answer, refuse } of this.#waiting.splice(0, count)) {
      if (!connection.open) continue
      const failed = connection.failed.get(queue.id)
      const error = (/** @type {any} */ code, retryable = true) =>
        refuse(new ClientError({ code, retryable, retryInMs }))
      if (failure !== undefined) {
        error(failure, retryInMs !== undefined)
      } else if (failed !== undefined && queue.seq > failed) {
        error('out_of_order')
      } else if (!this.available) {
        connection.failed.set(queue.id, queue.seq)
        error('unavailable')
      } else if (data.refused) {
        connection.failed.delete(queue.id)
        error('forbidden', false)
      } else {
        connection.failed.delete(queue.id)
        const duplicate = (this.#marks.get(queue.id) ?? 0) >= queue.seq
        if (!duplicate) {
          this.#marks.set(queue.id, queue.seq)
          this.accepted.push(data)
        }
        if (!connection.deaf) answer(duplicate ? { duplicate } : { traceId: 't' })
      }
    }
  }
}

/**
 * A page that has the document open.
 * @param {{ store: any, lock: any }} browser
 * @param {Gateway} gateway
 * @param {() => number} [slow] turns of the event loop until an edit is stored
 */
function openPage ({ store, lock }, gateway, slow = () => 0) {
  let list = () => /** @type {readonly any[]} */ ([])
  const page = {
    alive: true,
    connection: /** @type {any} */ (null),
    dropped: /** @type {unknown[]} */ ([]),
    get pending () { return list() }
  }
  /** A page that has ended does nothing any more. @param {(...args: any[]) => any} call */
  const whileAlive = (call) => (/** @type {any[]} */ ...args) => page.alive ? call(...args) : new Promise(() => {})
  const queue = new DocumentQueue({
    key: 'k',
    store: {
      load: whileAlive(store.load),
      remove: whileAlive(store.remove),
      async add (key, id, edit) {
        for (let i = slow(); i > 0; i--) await settle()
        await whileAlive(store.add)(key, id, edit)
      }
    },
    lock,
    log: () => {},
    send: (argument) => page.connection.send(argument),
    onPending: (pending) => { list = pending },
    onDropped: ({ data }, { code }) => { page.dropped.push([data, code]) }
  })
  const started = queue.start()
  started.catch(() => {})
  return Object.assign(page, {
    started,
    add: async (/** @type {object} */ data) => {
      await started
      return queue.add({ data })
    },
    connect () {
      const connection = { open: true, deaf: false, failed: new Map() }
      page.connection = Object.assign(connection, { send: gateway.send(connection) })
      queue.joined()
    },
    cut () {
      if (page.connection) page.connection.open = false
      queue.lost()
    },
    /** Closes the document; the connection stays. */
    close: () => queue.close(),
    end () {
      page.alive = false
      if (page.connection) page.connection.open = false
      queue.close()
    }
  })
}

const browserWith = () => ({ store: memoryStore(), lock: processLock() })

describe('queued edits', () => {
  test('are sent in order when there is a connection, and are pending until the gateway has accepted them', async () => {
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    await page.started
    const accepted = [1, 2, 3].map((n) => page.add({ n }))
    await settle()
    assert.deepEqual(page.pending.map(({ event, data }) => `${event} ${data.n}`), ['message 1', 'message 2', 'message 3'])
    page.connect()
    gateway.work(2)
    await settle()
    assert.deepEqual(page.pending.map(({ data }) => data.n), [3])
    gateway.work(1)
    assert.deepEqual(await Promise.all(accepted), [{ traceId: 't' }, { traceId: 't' }, { traceId: 't' }])
    assert.deepEqual(gateway.accepted.map(({ n }) => n), [1, 2, 3])
  })

  test('are sent again after a lost answer, and arrive once', async () => {
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    await page.started
    page.connect()
    const accepted = page.add({ n: 1 })
    await settle()
    page.connection.deaf = true
    gateway.work(1)
    page.cut()
    page.connect()
    gateway.work(1)
    assert.deepEqual(await accepted, {})
    assert.equal(gateway.accepted.length, 1)
  })

  test('of a page that has ended are sent by the next one, before its own', async () => {
    const [gateway, browser] = [new Gateway(), browserWith()]
    const first = openPage(browser, gateway)
    await first.started
    first.add({ n: 1 }).catch(() => {})
    first.add({ n: 2 }).catch(() => {})
    await settle()
    first.end()
    const second = openPage(browser, gateway)
    await second.started
    await settle()
    const own = second.add({ n: 3 })
    await settle()
    assert.deepEqual(second.pending.map(({ data }) => data.n), [1, 2, 3])
    second.connect()
    for (let i = 0; i < 5; i++) {
      gateway.work(9)
      await settle()
    }
    await own
    assert.deepEqual(gateway.accepted.map(({ n }) => n), [1, 2, 3])
    assert.equal((await browser.store.load('k')).size, 0)
  })

  test('of several pages that have ended are sent in the order in which the pages were opened', async () => {
    const [gateway, browser] = [new Gateway(), browserWith()]
    const { load } = browser.store
    browser.store.load = async (key) => new Map([...await load(key)].reverse())
    for (let n = 1; n <= 12; n++) {
      const page = openPage(browser, gateway)
      await page.started
      page.add({ n }).catch(() => {})
      await settle()
      page.end()
    }
    const last = openPage(browser, gateway)
    await last.started
    last.connect()
    last.add({ n: 13 })
    for (let i = 0; i < 20; i++) {
      gateway.work(9)
      await settle()
    }
    assert.deepEqual(gateway.accepted.map(({ n }) => n), Array.from({ length: 13 }, (_, i) => i + 1))
  })

  test('of a page that ends while another one is connected are sent by that one', async (t) => {
    const time = clientTime(t)
    const [gateway, browser] = [new Gateway(), browserWith()]
    const [one, two] = [openPage(browser, gateway), openPage(browser, gateway)]
    await Promise.all([one.started, two.started])
    two.connect()
    one.add({ n: 1 }).catch(() => {})
    await settle()
    one.end()
    time.advance(30_000)
    await settle()
    gateway.work(9)
    await settle()
    assert.deepEqual(gateway.accepted.map(({ n }) => n), [1])
  })

  test('are sent as they were when they were queued', async () => {
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    await page.started
    const data = { n: 1 }
    page.add(data)
    await settle()
    data.n = 2
    page.connect()
    gateway.work(1)
    assert.deepEqual(gateway.accepted, [{ n: 1 }])
  })

  test('are not dropped because a token has expired', async (t) => {
    const time = clientTime(t)
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    await page.started
    const accepted = page.add({ n: 1 })
    await settle()
    page.connect()
    gateway.work(1, 'token_expired')
    await settle()
    assert.equal(page.pending.length, 1)
    time.advance(1000)
    gateway.work(1)
    await accepted
  })

  test('that are refused for a time are sent again after the gateway\'s delay, not before', async (t) => {
    const time = clientTime(t)
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    await page.started
    page.connect()
    const accepted = page.add({ n: 1 })
    await settle()
    gateway.work(1, 'rate_limited', 5000)
    await settle()
    time.advance(4999)
    gateway.work(1)
    assert.deepEqual(gateway.accepted, [])
    time.advance(1)
    gateway.work(1)
    assert.deepEqual(await accepted, { traceId: 't' })
  })

  test('of a page that lives are left to it', async () => {
    const [gateway, browser] = [new Gateway(), browserWith()]
    const [one, two] = [openPage(browser, gateway), openPage(browser, gateway)]
    await Promise.all([one.started, two.started])
    one.add({ n: 1 })
    await settle()
    two.connect()
    await settle()
    gateway.work(9)
    assert.deepEqual([gateway.accepted, two.pending], [[], []])
    one.connect()
    gateway.work(9)
    assert.deepEqual(gateway.accepted.map(({ n }) => n), [1])
  })

  test('that are refused for good are dropped, and the next ones are sent', async () => {
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    await page.started
    page.connect()
    const [refused, accepted] = [page.add({ n: 1, refused: true }), page.add({ n: 2 })]
    const rejected = assert.rejects(refused, { code: 'forbidden' })
    await settle()
    gateway.work(9)
    await Promise.all([rejected, accepted])
    assert.deepEqual([page.pending, gateway.accepted.map(({ n }) => n)], [[], [2]])
  })

  test('that are refused after their document was closed are reported to the page that opens it next', async () => {
    const [gateway, browser] = [new Gateway(), browserWith()]
    const first = openPage(browser, gateway)
    await first.started
    first.connect()
    const rejected = assert.rejects(first.add({ n: 1, refused: true }), { code: 'closed' })
    await settle()
    first.close()
    gateway.work(1)
    await rejected
    await settle()
    assert.equal((await browser.store.load('k')).size, 1)
    const second = openPage(browser, gateway)
    await second.started
    second.connect()
    gateway.work(1)
    await settle()
    assert.deepEqual([first.dropped, second.dropped], [[], [[{ n: 1, refused: true }, 'forbidden']]])
    assert.equal((await browser.store.load('k')).size, 0)
  })

  test('that cannot be stored are rejected', async () => {
    const page = openPage(browserWith(), new Gateway())
    await page.started
    await assert.rejects(page.add({ call: () => {} }), { code: 'storage_failed' })
    assert.deepEqual(page.pending, [])
  })

  test('are listed when the list is read, once for each change', async () => {
    const gateway = new Gateway()
    const page = openPage(browserWith(), gateway)
    page.add({ n: 1 }).catch(() => {})
    await settle()
    const one = page.pending
    assert.equal(one.length, 1)
    assert.equal(page.pending, one)
    page.add({ n: 2 }).catch(() => {})
    await settle()
    const two = page.pending
    assert.deepEqual([one.length, two.length], [1, 2])
    page.connect()
    await settle()
    assert.equal(page.pending, two)
    gateway.work(1)
    await settle()
    assert.deepEqual(page.pending, two.slice(1))
    page.end()
  })

  test('are limited to 10,000', async () => {
    const page = openPage({ store: { ...memoryStore(), add: async () => {} }, lock: processLock() }, new Gateway())
    await page.started
    for (let n = 0; n < 10_000; n++) page.add({ n }).catch(() => {})
    await assert.rejects(page.add({ n: 10_000 }), { code: 'too_many_waiting', retryable: true })
    page.end()
  })

  test(`arrive once and in order, in ${SCHEDULES} random schedules of cuts, crashes, tabs and outages`, async (t) => {
    const time = clientTime(t)
    const first = Number(process.env.SEED ?? 1)
    for (let seed = first; seed < first + (process.env.SEED ? 1 : SCHEDULES); seed++) await runSchedule(t, time, seed)
  })
})

/** @param {import('node:test').TestContext} t @param {ReturnType<typeof clientTime>} time @param {number} seed */
async function runSchedule (t, time, seed) {
  const random = seededRandom(seed)
  const some = (/** @type {number} */ limit) => Math.floor(random() * limit)
  const [gateway, browser] = [new Gateway(), browserWith()]
  /** @type {(ReturnType<typeof openPage> & { number: number })[]} */
  const pages = []
  let [made, opened] = [0, 0]
  /** Stored edits; only those that the gateway refuses may be lost. @type {Set<number>} */
  const stored = new Set()
  /** @type {Set<number>} */
  const refused = new Set()
  const { add } = browser.store
  browser.store.add = async (key, queue, edit) => {
    await add(key, queue, edit)
    stored.add(/** @type {any} */ (edit.data).n)
  }
  const page = () => pages[some(pages.length)]
  /** @type {Record<string, () => void>} */
  const steps = {
    open () {
      if (pages.length < 3)
        pages.push(Object.assign(openPage(browser, gateway, () => some(3)), { number: ++opened }))
    },
    add () {
      const chosen = page()
      if (chosen === undefined) return
      const data = { n: ++made, page: chosen.number, refused: random() < 0.1 }
      if (data.refused) refused.add(made)
      chosen.add(data).catch(() => {})
    },
    burst: () => { for (let i = some(25); i > 0; i--) steps.add() },
    connect: () => { const chosen = page(); if (chosen && !chosen.connection?.open) chosen.connect() },
    cut: () => page()?.cut(),
    deaf: () => { const { connection } = page() ?? {}; if (connection) connection.deaf = true },
    crash: () => { if (random() < 0.5 && pages.length > 0) pages.splice(some(pages.length), 1)[0].end() },
    work: () => gateway.work(some(12)),
    outage: () => { gateway.available = !gateway.available },
    tick: () => time.advance(some(4000))
  }
  const names = Object.keys(steps)
  for (let i = 0; i < STEPS; i++) {
    steps[names[some(names.length)]]()
    if (random() < 0.6) await settle()
  }
  gateway.available = true
  steps.open()
  for (let i = 0; i < 60; i++) {
    for (const each of pages) {
      if (each.connection?.deaf) each.cut()
      if (!each.connection?.open) each.connect()
    }
    await settle()
    gateway.work(1000)
    await settle()
    time.advance(16_000)
    await settle()
    if ((await browser.store.load('k')).size === 0) break
  }
  for (const each of pages) each.end()
  const numbers = gateway.accepted.map(({ n }) => n)
  assert.equal(new Set(numbers).size, numbers.length, `SEED=${seed}: twice in ${numbers}`)
  const lost = [...stored].filter((n) => !numbers.includes(n) && !refused.has(n))
  assert.deepEqual(lost, [], `SEED=${seed}: lost`)
  assert.equal((await browser.store.load('k')).size, 0, `SEED=${seed}: left in the store`)
  for (let number = 1; number <= opened; number++) {
    const order = gateway.accepted.filter(({ page }) => page === number).map(({ n }) => n)
    assert.deepEqual(order, order.toSorted((a, b) => a - b), `SEED=${seed}: order of page ${number}`)
  }
  assert.deepEqual(gateway.accepted.filter(({ refused }) => refused), [])
}
