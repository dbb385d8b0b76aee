import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import { io } from 'socket.io-client'
import { entry } from '../../contract/bus-fixture.js'
import { StockClient } from '../../fault/stock-client.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { httpService } from '../../helpers/http-service.js'
import { runPrintedLines } from '../../helpers/printed-lines.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * A page with the code that docs/protocol.md prints, for two documents, and a gateway whose access service and bus fail
 * when the test decides.
 * @param {import('node:test').TestContext} t
 */
async function setUp (t) {
  const failing = { access: 0, users: 0, documents: 0, accessStatus: 500 }
  const access = await httpService(t, () =>
    failing.access-- > 0 ? { status: failing.accessStatus, body: '{"allow":false}' } : { body: '{"allow":true}' }
  )
  const server = await startEmbedded(t, {
    AUTH_JWT_SECRET: SECRET,
    AUTH_ACCESS_URL: access.url,
    MAX_EVENTS_PER_SECOND: '10'
  })
  const { bus } = server.gateway
  const { addUser, subscribe } = bus
  bus.addUser = async (uid) => {
    if (failing.users-- > 0) throw new Error('the bus is unavailable')
    return addUser(uid)
  }
  bus.subscribe = async (guid) => {
    if (failing.documents-- > 0) throw new Error('the bus is unavailable')
    return subscribe(guid)
  }
  return {
    failing,
    /** @param {string} sub user */
    async open (sub) {
      const token = await signToken({ sub })
      /** @type {Record<string, unknown[]>} */
      const shown = { one: [], two: [] }
      /** Delays of the printed code before its retries, ms. @type {number[]} */
      const pauses = []
      const socket = runPrintedLines({
        guids: Object.keys(shown),
        connect: (auth) =>
          io(server.url, {
            transports: ['websocket'],
            forceNew: true,
            auth: (tell) => auth((said) => tell({ token, ...said }))
          }),
        show: (guid, payload) => { shown[guid].push(payload) },
        wait: (done, ms) => {
          pauses.push(ms)
          setImmediate(done)
        }
      })
      t.after(() => { socket.disconnect() })
      return { socket, shown, pauses }
    },
    /** @param {number} from @param {number} to */
    async publish (from, to) {
      for (let i = from; i <= to; i++) for (const guid of ['one', 'two']) await bus.publish([entry(guid, i)])
    }
  }
}

/** @param {{ shown: Record<string, unknown[]> }} page @param {unknown[]} payloads */
const shows = ({ shown }, payloads) =>
  waitFor(() => assert.deepEqual(shown, { one: payloads, two: payloads }) ?? true, { message: () => shown })

describe('the code that docs/protocol.md prints', () => {
  /**
   * @type {[string, { access?: number, users?: number, documents?: number }, { users?: number, documents?: number }][]}
   */
  const refusals = [
    [
      'documents are refused while the access service or the bus is unavailable',
      { access: 1, documents: 2 },
      { documents: 3 }
    ],
    ['the handshake is refused while the bus is unavailable', { users: 2 }, { users: 2 }]
  ]
  for (const [refusal, first, later] of refusals) {
    test(`continues after ${refusal}, at the first connect and at a later one`, async (t) => {
      const { failing, open, publish } = await setUp(t)
      Object.assign(failing, first)
      const page = await open('ada')
      const joined = new Set()
      page.socket.on('doc:joined', ({ guid }) => { joined.add(guid) })
      const bothJoin = () => waitFor(() => joined.size === 2, { timeout: 20_000, message: () => [...joined] })
      await bothJoin()
      await publish(1, 1)
      await shows(page, [1])
      joined.clear()
      assert.ok(page.pauses.length > 0)
      Object.assign(failing, later)
      const { engine } = /** @type {any} */ (page.socket.io)
      engine.close()
      await publish(2, 4)
      await bothJoin()
      await publish(5, 5)
      await shows(page, [1, 2, 3, 4, 5])
      assert.ok(page.pauses.length > 2 && page.pauses.every((ms) => ms >= 1000 && ms <= 5000), String(page.pauses))
    })
  }

  test('matches all kinds of clients of the fault tests', async (t) => {
    const server = await startEmbedded(t)
    const guids = ['one', 'two']
    const clients = Array.from(
      { length: 7 },
      (_, number) => new StockClient({ url: server.url, number, guids }, () => {})
    )
    t.after(() => { for (const client of clients) client.close() })
    let number = 0
    const publish = async () => {
      number++
      for (const guid of guids)
        await server.gateway.bus.publish([
          entry(guid, /** @type {any} */ ({ number, offered: Date.now() }), { event: 'record' })
        ])
    }
    const complete = () =>
      waitFor(() => clients.every((client) => client.ready && client.missing({ one: number, two: number }) === 0), {
        timeout: 20_000
      })
    await complete()
    await publish()
    await complete()
    for (const client of clients) client.cut()
    for (let i = 0; i < 3; i++) await publish()
    await complete()
    assert.deepEqual(clients.flatMap(({ documents }) => [...documents.values()].flatMap(({ faults }) => faults)), [])
    assert.deepEqual(
      clients.flatMap(({ documents }) => [...documents.values()].map(({ received }) => received)),
      Array(14).fill(4)
    )
  })

  test('continues after the gateway disconnected a client that sent too much, and not after a final refusal', async (t) => {
    const { failing, open, publish } = await setUp(t)
    const page = await open('ada')
    let joins = 0
    page.socket.on('doc:joined', () => { joins++ })
    await waitFor(() => joins === 2)
    for (let i = 0; i < 2000; i++) page.socket.emit('doc:leave', { guid: 'x' })
    await page.socket.timeout(10_000).emitWithAck('nothing')
      .catch(() => {})
    await waitFor(() => page.pauses.length > 0)
    await publish(1, 3)
    await waitFor(() => joins === 4, { timeout: 20_000 })
    await shows(page, [1, 2, 3])
    page.socket.disconnect()
    Object.assign(failing, { access: 2, accessStatus: 200 })
    const codes = /** @type {string[]} */ ([])
    const other = await open('bob')
    other.socket.on('doc:refused', ({ error }) => { codes.push(error.code) })
    await waitFor(() => codes.length > 0)
    assert.deepEqual([new Set(codes), other.pauses], [new Set(['forbidden']), []])
  })
})

test('a record that came before the first answer does not hide those of another log', () => {
  const socket = new EventEmitter()
  /** @type {(tell: (said: any) => void) => void} */
  let auth = () => {}
  /** @type {number[]} */
  const shown = []
  runPrintedLines({
    guids: ['plan'],
    connect (own) {
      auth = own
      return /** @type {any} */ (socket)
    },
    show: (_, { n }) => shown.push(n)
  })
  const record = (/** @type {number} */ n, /** @type {number} */ offset) =>
    socket.emit('message', { n }, { guid: 'plan', offset })
  auth(() => {})
  record(1, 5)
  // cut off before the answer, and meanwhile the log is lost
  auth(({ documents }) => assert.deepEqual(documents, { plan: null }))
  socket.emit('doc:joined', { guid: 'plan', position: { epoch: 'second', offset: 1 } })
  record(2, 2)
  auth(({ documents }) => assert.deepEqual(documents, { plan: { epoch: 'second', offset: 2 } }))
  assert.deepEqual(shown, [1, 2])
})
