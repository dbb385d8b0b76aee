import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ClientError } from '../../../client/common/error.js'
import { DocumentQueue } from '../../../client/outbox/document-queue.js'
import { InFlight } from '../../../client/outbox/in-flight.js'
import { processLock } from '../../../client/outbox/locks.js'
import { memoryStore } from '../../../client/outbox/memory-store.js'
import { seededRandom } from '../../helpers/random.js'
import { settle } from '../../helpers/scripted-socket.js'
import { waitFor } from '../../helpers/wait.js'

const SCHEDULES = 300
const STEPS = 40
const UNDECODED = new ClientError({ code: 'bad_value', message: 'the packet is not a valid event' })

/** A gateway that cuts the connection of an edit that it cannot decode, and says so. */
class Gateway {
  /** @type {any[]} */
  accepted = []
  /** Times that an edit arrived, by its number. @type {Map<number, number>} */
  sent = new Map()
  /** @type {Map<string, number>} */
  #marks = new Map()

  connection () {
    /** @type {{ queue: any, data: any, resolve: Function, reject: Function }[]} */
    let requests = []
    let open = true
    const end = (/** @type {object} */ options) => {
      open = false
      for (const { reject } of requests)
        reject(new ClientError({ code: 'disconnected', retryable: true }, options))
      requests = []
    }
    return {
      get open () { return open },
      send: (/** @type {any} */ { queue, data, ...rest }) => new Promise((resolve, reject) => {
        assert.deepEqual(Object.keys(rest), [], 'the mark of an edit is not sent')
        if (open) requests.push({ queue, data, resolve, reject })
        else reject(new ClientError({ code: 'disconnected', retryable: true }))
      }),
      lose: () => end({}),
      /**
       * @param {number} count requests that it handles
       * @param {(request: any) => boolean} [isSlow] its requests are not handled yet
       * @returns {boolean} whether it cuts the connection
       */
      work: (count, isSlow = () => false) => {
        while (open && count-- > 0) {
          const request = requests.find((one) => !isSlow(one))
          if (request === undefined) return false
          const { queue, data, resolve } = request
          this.sent.set(data.n, (this.sent.get(data.n) ?? 0) + 1)
          if (data.poison) {
            end({ cause: UNDECODED })
            return true
          }
          requests = requests.filter((one) => one !== request)
          if ((this.#marks.get(queue.id) ?? 0) < queue.seq) {
            this.#marks.set(queue.id, queue.seq)
            this.accepted.push(data.n)
          }
          resolve({ traceId: 't' })
        }
        return false
      }
    }
  }
}

/**
 * @param {Gateway} gateway
 * @param {{ store: any, lock: any }} browser
 * @param {(edit: any, error: any) => void} onDropped
 */
function openPage (gateway, { store, lock }, onDropped) {
  const whileAlive = (/** @type {Function} */ call) => (/** @type {any[]} */ ...args) =>
    page.alive ? call(...args) : new Promise(() => {})
  let connection = gateway.connection()
  connection.lose()
  const page = { alive: true, pending: 0, started: /** @type {Promise<void>} */ (Promise.resolve()) }
  const queue = new DocumentQueue({
    key: 'k',
    store: { load: whileAlive(store.load), add: whileAlive(store.add), remove: whileAlive(store.remove) },
    lock,
    log: () => {},
    send: (argument) => connection.send(argument),
    onPending: (pending) => { page.pending = pending().length },
    onDropped: (edit, error) => { if (page.alive) onDropped(edit, error) }
  })
  page.started = queue.start()
  return Object.assign(page, {
    add: async (/** @type {object} */ data) => {
      await page.started
      return queue.add({ data })
    },
    async connect () {
      // a client reconnects after a pause
      await settle()
      connection = gateway.connection()
      queue.joined()
    },
    work (/** @type {number} */ count) { if (connection.work(count)) queue.lost() },
    lose () {
      connection.lose()
      queue.lost()
    },
    end () {
      page.alive = false
      connection.lose()
      queue.close()
    },
    isUp: () => connection.open
  })
}

describe('an edit for which the gateway cuts the connection', () => {
  test('is dropped with bad_value after the second cut, and what follows it is sent', async () => {
    const gateway = new Gateway()
    /** @type {any[]} */
    const dropped = []
    const browser = { store: memoryStore(), lock: processLock() }
    const page = openPage(gateway, browser, (edit, { code }) => dropped.push([edit.data.n, code]))
    await page.started
    await page.connect()
    const results = [1, 2, 3, 4, 5].map((n) => page.add({ n, poison: n === 3 }).then(() => 'ok', ({ code }) => code))
    for (let i = 0; i < 10; i++) {
      await settle()
      page.work(20)
      if (!page.isUp()) await page.connect()
    }
    assert.deepEqual(await Promise.all(results), ['ok', 'ok', 'bad_value', 'ok', 'ok'])
    assert.deepEqual(dropped, [[3, 'bad_value']])
    assert.deepEqual(gateway.accepted, [1, 2, 4, 5])
    assert.equal(gateway.sent.get(3), 2)
  })

  test('has its mark in the store before it is sent for the second time, so a reload does not start again', async () => {
    const gateway = new Gateway()
    const store = memoryStore()
    const browser = { store, lock: processLock() }
    const first = openPage(gateway, browser, () => {})
    await first.started
    await first.connect()
    for (const n of [1, 2]) first.add({ n, poison: n === 1 }).catch(() => {})
    await settle()
    first.work(20)
    await settle()
    first.end()
    const stored = [...(await store.load('k')).values()].flat()
    assert.deepEqual(stored.map(({ data, cut }) => [/** @type {any} */ (data).n, cut]), [[1, true], [2, true]])
    /** @type {any[]} */
    const dropped = []
    const second = openPage(gateway, browser, (edit, { code }) => dropped.push([edit.data.n, code]))
    await second.started
    await second.connect()
    await waitFor(async () => {
      await settle()
      second.work(20)
      if (!second.isUp()) await second.connect()
      return gateway.accepted.length === 1
    })
    assert.deepEqual([dropped, gateway.accepted, gateway.sent.get(1)], [[[1, 'bad_value']], [2], 2])
    await waitFor(async () => (await store.load('k')).size === 0)
  })

  test('is dropped if its mark cannot be stored, too; an edit is kept after cuts without a code', async () => {
    const gateway = new Gateway()
    const { add, ...store } = memoryStore()
    const full = (/** @type {string} */ key, /** @type {string} */ id, /** @type {any} */ edit) =>
      edit.cut ? Promise.reject(new Error('full')) : add(key, id, edit)
    const page = openPage(gateway, { store: { ...store, add: full }, lock: processLock() }, () => {})
    await page.started
    await page.connect()
    const kept = page.add({ n: 1 })
    for (let i = 0; i < 10; i++) {
      await settle()
      page.lose()
      await page.connect()
    }
    page.work(1)
    await kept
    const poison = assert.rejects(page.add({ n: 2, poison: true }), { code: 'bad_value' })
    for (let i = 0; i < 5; i++) {
      await settle()
      page.work(20)
      if (!page.isUp()) await page.connect()
    }
    await poison
    assert.equal(gateway.sent.get(2), 2)
  })

  test('takes no edit of another document with it', async () => {
    const gateway = new Gateway()
    const inFlight = new InFlight()
    const store = memoryStore()
    /** @type {string[]} */
    const results = []
    let connection = gateway.connection()
    const queues = await Promise.all(['a', 'b', 'c'].map(async (key) => {
      const queue = new DocumentQueue({
        key, store, inFlight,
        lock: processLock(),
        log: () => {},
        send: (argument) => connection.send(argument),
        onPending: () => {},
        onDropped: (edit) => { results.push(`${/** @type {any} */ (edit.data).n} dropped`) }
      })
      await queue.start()
      return queue
    }))
    for (const [i, queue] of queues.entries())
      for (const n of [1, 2, 3]) queue.add({ data: { n: `${i}${n}`, poison: i === 1 && n === 2 } }).catch(() => {})
    await settle()
    for (let i = 0; i < 30; i++) {
      connection = gateway.connection()
      for (const queue of queues) queue.joined()
      let cut = false
      for (let turns = 0; turns < 20 && !cut; turns++) {
        await settle()
        // the answer to an edit takes longer than a cut: edits of all documents are in flight
        cut = connection.work(1, ({ data }) => !data.poison && turns < 2)
      }
      if (cut) for (const queue of queues) queue.lost()
      await settle()
    }
    assert.deepEqual(results, ['12 dropped'])
    assert.deepEqual(gateway.accepted.sort(), ['01', '02', '03', '11', '13', '21', '22', '23'])
  })

  test('never holds back the others, over reloads and lost connections', async (t) => {
    let poisons = 0
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const random = seededRandom(seed)
      const gateway = new Gateway()
      const browser = { store: memoryStore(), lock: processLock() }
      /** @type {Set<number>} */
      const dropped = new Set()
      const onDropped = (/** @type {any} */ { data }, /** @type {any} */ { code }) => {
        assert.equal(code, 'bad_value')
        assert.ok(data.poison, `seed ${seed}: ${data.n} was dropped`)
        dropped.add(data.n)
      }
      let page = openPage(gateway, browser, onDropped)
      await page.started
      await page.connect()
      /** @type {Set<number>} */
      const poison = new Set()
      /** @type {number[]} */
      const good = []
      let reloads = 0
      for (let n = 1; n <= STEPS; n++) {
        const chance = random()
        if (chance < 0.5) {
          const isPoison = random() < 0.15
          page.add({ n, poison: isPoison }).catch(() => {})
          // it is stored
          await settle()
          if (isPoison) poison.add(n)
          else good.push(n)
        } else if (chance < 0.8) {
          page.work(1 + Math.floor(random() * 4))
        } else if (chance < 0.87) {
          page.lose()
        } else if (chance < 0.93) {
          page.end()
          reloads++
          page = openPage(gateway, browser, onDropped)
          await page.started
        }
        if (!page.isUp() || random() < 0.05) {
          if (page.isUp()) page.lose()
          await page.connect()
        }
        await settle()
      }
      for (let i = 0; page.pending > 0; i++) {
        assert.ok(i < 500, `seed ${seed}: ${page.pending} edits wait`)
        if (!page.isUp()) await page.connect()
        page.work(100)
        await settle()
      }
      assert.deepEqual(gateway.accepted, good, `seed ${seed}`)
      assert.deepEqual([...dropped].sort(), [...poison].sort(), `seed ${seed}`)
      for (const n of poison) assert.ok((gateway.sent.get(n) ?? 0) <= 2 + reloads, `seed ${seed}: ${gateway.sent.get(n)} times`)
      poisons += poison.size
    }
    t.diagnostic(`${SCHEDULES} schedules with ${poisons} edits that are cut`)
    assert.ok(poisons > SCHEDULES)
  })
})
