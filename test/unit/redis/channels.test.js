import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { after, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemRandom } from '../../../src/base/common/random.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { createLog } from '../../../src/base/common/log.js'
import { Channels } from '../../../src/redis/channels.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })

/** The part of an ioredis client that a subscriber uses. */
class FakeRedis extends EventEmitter {
  status = 'ready'
  stream = { bytesRead: 0 }

  /** @param {FakeNode} node */
  constructor (node) {
    super()
    this.node = node
  }

  connect () { return new Promise((resolve) => { this.ready = () => resolve(undefined) }) }
  async ping () {}
  async info () { return '' }
  disconnect () {}
  pipeline () { return this.node.pipeline() }
}

/** A node with the connection of the last attempt; the test responds to the commands of all of them. */
class FakeNode {
  /** @type {{ command: string, answer: (error?: Error) => void }[]} */
  sent = []
  /** @type {FakeRedis | undefined} */
  connection

  connect () { return (this.connection = new FakeRedis(this)) }

  /** Resolves when the channels of this connection are about to be sent. */
  async open () {
    this.connection?.ready?.()
    await turn()
  }

  /** Resolves when the next attempt has begun. */
  async lose () {
    const lost = this.connection
    lost?.emit('close')
    await waitFor(() => this.connection !== lost, { message: 'another attempt' })
  }

  /** @param {string} channel @param {string} text */
  bring (channel, text) { this.connection?.emit('smessageBuffer', Buffer.from(channel), Buffer.from(text)) }

  pipeline () {
    /** @type {Promise<[Error | null]>[]} */
    const results = []
    const add = (/** @type {string} */ name) => (/** @type {string[]} */ ...channels) => {
      results.push(new Promise((resolve) => {
        this.sent.push({ command: `${name} ${channels.join(' ')}`, answer: (error) => resolve([error ?? null]) })
      }))
    }
    return { ssubscribe: add('+'), sunsubscribe: add('-'), exec: () => Promise.all(results) }
  }

  /** @returns {string[]} */
  get commands () { return this.sent.map(({ command }) => command) }
}

/**
 * @param {object} [options]
 * @param {boolean} [options.single]
 * @param {{ answer: number, more: number }} [options.patience]
 * @param {import('../../../src/base/common/clock.js').Clock} [options.clock]
 */
function setUp ({ single = true, patience, clock = systemClock } = {}) {
  /** @type {Record<string, FakeNode>} */
  const nodes = { a: new FakeNode(), b: new FakeNode() }
  let owner = 'a'
  /** @type {() => void} */
  let changed = () => {}
  const topology = {
    single,
    nodeOf: () => owner,
    has: (/** @type {string} */ key) => key in nodes,
    connect: (/** @type {string} */ key) => /** @type {any} */ (nodes[key].connect()),
    nodes: () => Object.keys(nodes),
    commands: () => undefined,
    refresh () {},
    onChange (/** @type {() => void} */ listener) { changed = listener },
    stop () {}
  }
  const channels = new Channels({ topology, name: 'test', log, patience, clock, random: systemRandom })
  after(() => channels.stop())
  return { channels, nodes, move: (/** @type {string} */ to) => { owner = to; changed() } }
}

/** @param {Promise<unknown>} promise */
async function isSettled (promise) {
  let settled = false
  promise.then(() => { settled = true }, () => { settled = true })
  await turn()
  return settled
}

describe('channels', () => {
  test('of one turn are sent in one command, and resolve with its response', async () => {
    const { channels, nodes: { a } } = setUp()
    const first = channels.subscribe('x', () => {})
    await turn()
    await a.open()
    const second = channels.subscribe('y', () => {})
    await turn()
    assert.deepEqual(a.commands, ['+ x y'])
    assert.equal(await isSettled(first), false)
    a.sent[0].answer()
    await Promise.all([first, second])
  })

  test('of a cluster are sent in one command per hash slot', async () => {
    const { channels, nodes: { a } } = setUp({ single: false })
    const all = Promise.all(['{t}1', '{t}2', '{u}1'].map((channel) => channels.subscribe(channel, () => {})))
    await turn()
    await a.open()
    await turn()
    assert.deepEqual(a.commands, ['+ {t}1 {t}2', '+ {u}1'])
    for (const { answer } of a.sent) answer()
    await all
  })

  test('that are left and needed again within a turn are not changed', async () => {
    const { channels, nodes: { a } } = setUp()
    const subscribed = channels.subscribe('x', () => {})
    await turn()
    await a.open()
    await turn()
    a.sent[0].answer()
    await subscribed
    channels.unsubscribe('x')
    await channels.subscribe('x', () => {})
    await turn()
    assert.deepEqual(a.commands, ['+ x'])
    channels.unsubscribe('x')
    await turn()
    const again = channels.subscribe('x', () => {})
    await turn()
    assert.deepEqual(a.commands, ['+ x', '- x', '+ x'])
    a.sent[1].answer()
    assert.equal(await isSettled(again), false)
    a.sent[2].answer()
    await again
  })

  test('a response from before a reconnect confirms nothing', async () => {
    const { channels, nodes: { a } } = setUp()
    const subscribed = channels.subscribe('x', () => {})
    await turn()
    await a.open()
    await turn()
    await a.lose()
    await a.open()
    await turn()
    assert.deepEqual(a.commands, ['+ x', '+ x'])
    a.sent[0].answer()
    assert.equal(await isSettled(subscribed), false)
    a.sent[1].answer()
    await subscribed
  })

  test('that were live and are restored are reported together, others are not', async () => {
    const { channels, nodes: { a } } = setUp()
    /** @type {string[][]} */
    const told = []
    channels.onRestored((restored) => { told.push(restored) })
    const subscribed = [
      channels.subscribe('x', () => {}),
      channels.subscribe('y', () => {}),
      channels.subscribe('z', () => {})
    ]
    await turn()
    await a.open()
    await turn()
    a.sent[0].answer()
    await Promise.all(subscribed)
    await a.lose()
    channels.unsubscribe('z')
    const late = channels.subscribe('late', () => {})
    await turn()
    assert.deepEqual(told, [])
    await a.open()
    await turn()
    assert.deepEqual(a.commands.slice(1), ['+ x y late'])
    a.sent[1].answer()
    await late
    await turn()
    assert.deepEqual(told, [['x', 'y']])
  })

  test('that move are subscribed at the new node, and messages of the old one are ignored', async () => {
    const { channels, nodes: { a, b }, move } = setUp({ single: false })
    /** @type {string[]} */
    const got = []
    const subscribed = channels.subscribe('x', (payload) => { got.push(payload.toString()) })
    await turn()
    await a.open()
    await turn()
    a.sent[0].answer()
    await subscribed
    a.bring('x', 'one')
    move('b')
    await turn()
    await b.open()
    await turn()
    assert.deepEqual([a.commands, b.commands], [['+ x', '- x'], ['+ x']])
    b.sent[0].answer()
    await turn()
    b.bring('x', 'three')
    a.bring('x', 'two, late')
    assert.deepEqual(got, ['one', 'three'])
  })

  test('that are refused are requested one by one, until they succeed', async () => {
    const { channels, nodes: { a } } = setUp()
    const subscribed = Promise.all([channels.subscribe('x', () => {}), channels.subscribe('y', () => {})])
    await turn()
    await a.open()
    await turn()
    a.sent[0].answer(new Error('NOPERM'))
    await waitFor(() => a.sent.length >= 3, { message: () => a.commands })
    assert.deepEqual(a.commands.slice(1), ['+ x', '+ y'])
    for (const { answer } of a.sent.slice(1)) answer()
    await subscribed
  })

  test('a handler that throws does not reach the connection', async () => {
    const { channels, nodes: { a } } = setUp()
    const subscribed = channels.subscribe('x', () => { throw new Error('a test threw this') })
    await turn()
    await a.open()
    await turn()
    a.sent[0].answer()
    await subscribed
    a.bring('x', 'text')
    a.bring('never subscribed', 'text')
  })

  test('wait while data arrives, and no longer', async () => {
    const clock = manualClock()
    const { channels, nodes: { a } } = setUp({ patience: { answer: 300, more: 100 }, clock })
    const turn = () => clock.pass(0)
    // opens the connection, so that data arrives from the start of the wait
    const first = channels.subscribe('first', () => {})
    await turn()
    await a.open()
    await turn()
    a.sent[0].answer()
    await first
    const waiting = channels.subscribe('x', () => {})
    await turn()
    for (const ms of [300, 100, 100, 100]) {
      /** @type {FakeRedis} */ (a.connection).stream.bytesRead += 10
      clock.advance(ms)
      assert.equal(await isSettled(waiting), false)
    }
    clock.advance(100)
    await assert.rejects(waiting, { code: 'unavailable' })
    const next = channels.subscribe('y', () => {})
    await turn()
    clock.advance(300)
    assert.equal(await isSettled(next), false)
    clock.advance(100)
    await assert.rejects(next, { code: 'unavailable' })
  })

  test('stop rejects pending subscriptions', async () => {
    const { channels } = setUp()
    const waiting = channels.subscribe('x', () => {})
    channels.stop()
    await assert.rejects(waiting, { code: 'unavailable' })
  })
})
