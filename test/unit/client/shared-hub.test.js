import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { random } from '../../../client/common/random.js'
import { Hub } from '../../../client/shared/hub.js'
import { clientTime } from '../../helpers/client-time.js'
import { settle } from '../../helpers/scripted-socket.js'
import { listenAsTab, replaceTabChannels } from '../../helpers/tab-channels.js'

/** @typedef {{ event: string, payload: unknown, meta: any }} Logged */

const [CONNECT, EVENT, ACK] = [0, 2, 3]

class Decoder {
  /** @param {string} _ @param {(packet: object) => void} listener */
  on (_, listener) { this.listener = listener }
  /** @param {string} text */
  add (text) { this.listener?.(JSON.parse(text)) }
}

const manager = {
  uri: 'http://gateway',
  decoder: new Decoder(),
  encoder: { encode: (/** @type {unknown} */ packet) => [JSON.stringify(packet)] }
}

/** A gateway that publishes messages itself: one document, whose log the leaders of the tabs read. */
class Gateway {
  /** @type {Logged[]} */
  log = []
  /** @type {any[]} */
  connections = []
  /** Whether records reach the connection when they are published. */
  delivers = true

  /** Ids of connections, also of those that have ended. @type {string[]} */
  ids = []
  isDown = false
  /** Whether the test opens the connections. */
  isSlow = false
  /** @type {any[]} */
  handshakes = []
  /** Settles when the log can be read. */
  reading = Promise.resolve()

  get Connection () {
    const gateway = this
    return class {
      up = false
      opening = false
      ended = false
      reason = null
      /** @type {Function[]} */
      listeners = []
      socket = {
        id: /** @type {string | undefined} */ (undefined),
        onAny: (/** @type {Function} */ listener) => { this.listeners.push(listener) }
      }

      /** @param {string} _ @param {any} options @param {any} events */
      constructor (_, options, events) {
        this.options = options
        this.events = events
        gateway.connections.push(this)
      }

      connect () {
        if (this.up || this.opening) return
        gateway.handshakes.push(this.events.auth())
        if (gateway.isDown) return this.fails()
        this.opening = true
        if (!gateway.isSlow) this.opens()
      }

      opens () {
        this.opening = false
        this.up = true
        const id = this.socket.id = `connection-${gateway.ids.length + 1}`
        gateway.ids.push(id)
        this.events.onUp()
      }

      fails () {
        this.up = false
        this.reason = /** @type {any} */ ({ code: 'disconnected' })
        this.events.onDown()
      }

      close () { this.up = false }
      drop () {
        if (!this.up) return
        this.socket.id = undefined
        this.fails()
      }

      /** @param {Logged} record */
      gets ({ event, payload, meta }) { for (const listener of this.listeners) listener(event, payload, { ...meta }) }

      /** @param {string} event @param {any} argument */
      async request (event, argument) {
        const answer = gateway.answer(this, event, argument)
        if (event === 'doc:history') await gateway.reading
        return answer
      }
    }
  }

  get position () { return { epoch: 'e', offset: this.log.length } }

  /** @param {any} connection @param {string} event @param {any} argument @returns {object} */
  answer (connection, event, argument) {
    if (event === 'doc:send') {
      const { data: payload, traceparent } = argument
      const meta = { guid: 'doc', offset: this.log.length + 1, traceId: traceparent.slice(3, 35), from: connection.socket.id }
      const record = { event: 'message', payload, meta }
      this.log.push(record)
      if (this.delivers) connection.gets(record)
      return { ok: true, traceId: meta.traceId }
    }
    if (event === 'doc:history') {
      const { before = Infinity, limit = 100 } = argument
      const records = this.log.filter(({ meta }) => meta.offset < before).slice(-limit)
      return { ok: true, records: structuredClone(records), position: this.position, more: false }
    }
    const { position = this.position } = argument
    if (event === 'doc:join') for (const record of this.log.slice(position.offset)) connection.gets(record)
    return { ok: true, guid: 'doc', position: this.position, recovered: true }
  }
}

/** A tab: what inkcast-client does with its records. */
class Tab {
  /** Payloads that its page sees. @type {unknown[]} */
  seen = []
  /** Its connection ids. @type {Set<string>} */
  own = new Set()
  position = /** @type {any} */ (undefined)
  #answers = new Map()
  #ids = 0
  /** @param {string} client */
  constructor (client) { this.client = client }

  /** Connects to the leader. @param {object} [join] */
  async connect (join) {
    this.channel?.close()
    const id = `${this.client}-${this.#ids++}`
    const all = listenAsTab('tabs')
    const channel = this.channel = listenAsTab(`tabs ${id}`)
    channel.got.push = (...messages) => {
      for (const { data } of messages) if (data !== undefined) this.#on(JSON.parse(data))
      return 0
    }
    all.post({ hello: id })
    all.close()
    this.#post({ type: CONNECT, data: { client: this.client } })
    await settle()
    const position = this.position && { position: this.position }
    const { position: joined } = await this.ask('doc:join', { guid: 'doc', ...join, ...position })
    this.position = joined
  }

  /** @param {string} event @param {object} argument @returns {Promise<any>} */
  ask (event, argument) {
    const id = this.#ids++
    return new Promise((resolve) => {
      this.#answers.set(id, resolve)
      this.#post({ type: EVENT, id, data: [event, argument] })
    })
  }

  /** @param {unknown} data @param {object} [more] */
  send (data, more) { return this.ask('doc:send', { guid: 'doc', data, ...more }) }

  /** @param {object} packet */
  #post (packet) { this.channel?.post({ data: JSON.stringify(packet) }) }

  /** @param {any} packet of the leader */
  #on ({ type, id, data }) {
    if (type === CONNECT) this.own.add(data.sid)
    else if (type === ACK) this.#answers.get(id)?.(data[0])
    else if (data[0] === 'message') {
      const [, payload, { from, offset }] = data
      if (this.position?.offset >= offset) return
      this.position = { epoch: 'e', offset }
      if (!this.own.has(from)) this.seen.push(payload)
    }
  }
}

/** @param {import('node:test').TestContext} t @param {Gateway} gateway */
function lead (t, gateway) {
  const hub = new Hub({
    name: 'tabs', options: {}, manager, client: 'client', isOwn: () => false, Connection: /** @type {any} */ (gateway.Connection)
  })
  t.after(() => hub.close(true))
  return hub
}

describe('the log of the user of tabs that share a connection', () => {
  replaceTabChannels()

  test('is read for the tabs that connect, not for one that has to connect again', async (t) => {
    const gateway = new Gateway()
    lead(t, gateway)
    gateway.isDown = true
    const [first, second] = [7, 3].map((offset) => {
      const { post } = listenAsTab(`tabs ${offset}`)
      const all = listenAsTab('tabs')
      all.post({ hello: `${offset}` })
      all.close()
      const data = { client: `${offset}`, user: { epoch: 'e', offset } }
      return () => post({ data: JSON.stringify({ type: CONNECT, data }) })
    })
    first()
    second()
    await settle()
    gateway.isDown = false
    first()
    assert.deepEqual(gateway.handshakes.at(-1).user, { epoch: 'e', offset: 7 })
  })

  test('is read for a tab over another connection: no tab is admitted over the one that is dropped for it', async (t) => {
    const gateway = new Gateway()
    lead(t, gateway)
    gateway.isSlow = true
    const tabs = [undefined, { epoch: 'e', offset: 1 }, undefined].map((user, id) => {
      const { got, post } = listenAsTab(`tabs ${id}`)
      const all = listenAsTab('tabs')
      all.post({ hello: `${id}` })
      all.close()
      post({ data: JSON.stringify({ type: CONNECT, data: { client: `${id}`, user } }) })
      return () => got.flatMap(({ data }) => data ? JSON.parse(data) : []).filter(({ type }) => type === CONNECT)
    })
    gateway.connections[0].opens()
    assert.deepEqual(tabs.map((handshakes) => handshakes().map(({ data }) => data.sid)), [['connection-1'], [], []])
  })
})

describe('tabs that need another connection for an older place in the log of the user', () => {
  replaceTabChannels()

  test('wait for it as they are, and the others connect again at once', async (t) => {
    const gateway = new Gateway()
    lead(t, gateway)
    const [first, late] = [7, 3].map((offset) => {
      const { got, post } = listenAsTab(`tabs ${offset}`)
      const all = listenAsTab('tabs')
      all.post({ hello: `${offset}` })
      all.close()
      post({ data: JSON.stringify({ type: CONNECT, data: { client: `${offset}`, user: { epoch: 'e', offset } } }) })
      return () => got.flatMap(({ data }) => data ? JSON.parse(data) : [])
        .map(({ type, data }) => data.sid ?? data[1] ?? type)
    })
    await settle()
    assert.deepEqual([first(), late()], [['connection-1', { reconnectInMs: 0 }], []])
    // by itself, after drop(0)
    gateway.connections[0].connect()
    assert.deepEqual([gateway.handshakes.at(-1).user, late()], [{ epoch: 'e', offset: 3 }, ['connection-2']])
  })
})

describe('a token that is renewed for tabs', () => {
  replaceTabChannels()

  test('is asked of one tab, and of no other when the leader closes', async (t) => {
    const gateway = new Gateway()
    const hub = lead(t, gateway)
    const tabs = [1, 2, 3].map((id) => {
      const { got, post } = listenAsTab(`tabs ${id}`)
      const all = listenAsTab('tabs')
      all.post({ hello: `${id}` })
      all.close()
      post({ data: JSON.stringify({ type: CONNECT, data: { client: `${id}` } }) })
      return got
    })
    const renewed = assert.rejects(gateway.connections[0].options.token('expiring'))
    hub.close(true)
    await renewed
    const asked = tabs.map((got) => got.filter(({ data }) => data?.includes('auth:expiring')).length)
    assert.deepEqual(asked, [1, 0, 0])
  })
})

describe('the pause of tabs whose connection is lost', () => {
  replaceTabChannels()

  /** @param {import('node:test').TestContext} t */
  function tabOf (t) {
    const time = clientTime(t)
    t.mock.method(random, 'number', () => 1)
    const gateway = new Gateway()
    lead(t, gateway)
    let connections = 0
    /** @param {object} [user] place in the log of the user */
    const connect = (user) => {
      const id = `${connections++}`
      const { got, post } = listenAsTab(`tabs ${id}`)
      const all = listenAsTab('tabs')
      all.post({ hello: id })
      all.close()
      post({ data: JSON.stringify({ type: CONNECT, data: { client: 'a', user } }) })
      return got
    }
    return {
      gateway,
      connect,
      /**
       * Connects, and loses the connection.
       * @param {number} [ms] how long it lasts
       * @param {number} [reconnectInMs] of a gateway that drains
       * @returns the pause, ms
       */
      async pause (ms = 0, reconnectInMs) {
        const got = connect()
        if (!gateway.isDown) {
          time.advance(ms)
          if (reconnectInMs) gateway.connections.at(-1).gets({ event: 'gateway:draining', payload: { reconnectInMs } })
          gateway.connections.at(-1).fails()
        }
        await settle()
        const { data } = JSON.parse(got.filter(({ data }) => data !== undefined).at(-1).data)
        return data.data?.retryInMs ?? data[1].reconnectInMs
      }
    }
  }

  test('grows while connections are short', async (t) => {
    const { pause } = tabOf(t)
    assert.deepEqual([await pause(6000), await pause(), await pause(4999), await pause(5000)], [1000, 2000, 4000, 1000])
  })

  test('does not grow when a tab needs another connection: it has an older place in the log of the user', async (t) => {
    const { gateway, connect, pause } = tabOf(t)
    assert.equal(await pause(), 1000)
    for (const offset of [7, 3]) connect({ epoch: 'e', offset })
    const connection = gateway.connections.at(-1)
    assert.equal(connection.up, false, 'dropped')
    await settle()
    assert.equal(await pause(), 2000)
  })

  test('is the one that the gateway names when it drains, once', async (t) => {
    const { gateway, pause } = tabOf(t)
    const drained = await pause(6000, 7)
    gateway.isDown = true
    assert.deepEqual([drained, await pause(), await pause()], [7, 2000, 4000])
  })
})

describe('the messages of tabs that share a connection', () => {
  replaceTabChannels()

  /** @param {import('node:test').TestContext} t */
  async function twoTabs (t) {
    const gateway = new Gateway()
    const hub = lead(t, gateway)
    const tabs = [new Tab('a'), new Tab('b')]
    for (const tab of tabs) await tab.connect()
    return { gateway, hub, tabs, next: () => lead(t, gateway) }
  }

  test('reach the other tabs, not the one that sent them', async (t) => {
    const { gateway, tabs: [first, second] } = await twoTabs(t)
    await first.send('x')
    await second.send('y', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })
    assert.deepEqual([first.seen, second.seen], [['y'], ['x']])
    assert.deepEqual([...first.own], gateway.ids)
  })

  test('reach a tab that opens the document with its newest records, or a position', async (t) => {
    const { tabs: [first] } = await twoTabs(t)
    await first.send('x')
    const [newest, resumed] = [new Tab('c'), new Tab('d')]
    await newest.connect({ last: 10 })
    await resumed.connect({ position: { epoch: 'e', offset: 0 } })
    assert.deepEqual([newest.seen, resumed.seen, first.seen], [['x'], ['x'], []])
  })

  test('are those of another client in the history as well', async (t) => {
    const { tabs: [first, second] } = await twoTabs(t)
    await first.send('x')
    const from = async (/** @type {Tab} */ tab) =>
      tab.own.has((await tab.ask('doc:history', { guid: 'doc' })).records[0].meta.from)
    assert.deepEqual([await from(first), await from(second)], [true, false])
  })

  test('reach the other tabs when they arrive while those catch up', async (t) => {
    const { gateway, tabs: [first] } = await twoTabs(t)
    await first.send('x')
    const late = new Tab('c')
    let read = () => {}
    gateway.reading = new Promise((resolve) => { read = resolve })
    const joining = late.connect({ last: 10 })
    await settle()
    await settle()
    await first.send('y')
    assert.deepEqual(late.seen, [])
    read()
    await joining
    assert.deepEqual([late.seen, first.seen], [['x', 'y'], []])
  })

  for (const [change, end] of /** @type {[string, (tabs: Awaited<ReturnType<typeof twoTabs>>) => void][]} */ ([
    ['a reconnect', ({ gateway }) => gateway.connections[0].fails()],
    ['a change of the leader', ({ hub, next }) => {
      hub.close(false)
      next()
    }]
  ])) test(`reach the other tabs after ${change}, and no tab twice`, async (t) => {
    const shared = await twoTabs(t)
    const { gateway, tabs: [first, second] } = shared
    await first.send('before')
    gateway.delivers = false
    await first.send('lost')
    gateway.delivers = true
    end(shared)
    await settle()
    // the second one is first to connect
    for (const tab of [second, first]) await tab.connect()
    await second.send('after')
    await first.send('at last')
    assert.deepEqual([first.seen, second.seen], [['after'], ['before', 'lost', 'at last']])
    assert.deepEqual([...second.own], gateway.ids)
  })
})
