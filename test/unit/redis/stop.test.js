import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import { Channels } from '../../../src/redis/channels.js'
import { NodeWait } from '../../../src/redis/durability/node-wait.js'
import { createElsewhere } from '../../../src/redis/identity/moved-address.js'
import { ReconnectingConnection } from '../../../src/redis/reconnecting-connection.js'
import { createSameServer } from '../../../src/redis/identity/same-server.js'
import { clusterTopology } from '../../../src/redis/topology.js'
import { systemRandom as random } from '../../../src/base/common/random.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** A connection that is made or not, and whose commands are refused or never answered. */
class FakeRedis extends EventEmitter {
  status = 'ready'
  /** @param {{ connects?: boolean, refuses?: boolean }} [options] */
  constructor ({ connects = true, refuses = false } = {}) {
    super()
    this.connects = connects
    this.refuses = refuses
  }

  async connect () { if (!this.connects) throw new Error('refused') }
  async ping () {}
  defineCommand () {}
  call () { return new Promise((_resolve, reject) => { this.disconnect = () => reject(new Error('closed')) }) }
  async info () { return 'run_id:other\nrole:master\nmaster_replid:0123456789abcdef0123' }
  duplicate () { return new FakeRedis() }
  disconnect () {}
  pipeline () {
    return {
      ssubscribe () {},
      exec: () => this.refuses ? Promise.resolve([[new Error('NOPERM')]]) : new Promise(() => {})
    }
  }
}

/** @param {FakeRedis} redis @returns {any} */
const topologyOf = (redis) => ({
  single: true,
  nodeOf: () => 'redis',
  has: () => true,
  connect: () => redis,
  commands: () => redis,
  refresh () {},
  onChange () {}
})

const log = recordingLog().log
const gauge = { inc () {}, dec () {}, observe () {} }
const metrics = /** @type {any} */ ({ write_waits_pending: gauge, write_waits: gauge, write_wait_seconds: gauge })
const ignore = (/** @type {Promise<unknown>} */ promise) => { promise.catch(() => {}) }

/** @param {import('../../../src/base/common/clock.js').Clock} clock @param {FakeRedis} redis */
const channelsOver = (clock, redis) =>
  new Channels({ topology: topologyOf(redis), name: 'test', log, clock, random })

/** @param {import('../../../src/base/common/clock.js').Clock} clock @param {FakeRedis} redis */
const nodeWaitOver = (clock, redis) => new NodeWait('redis', {
  redis: { topology: topologyOf(redis), track () {} }, name: 'test', mode: 'replicas', timeout: 3000,
  metrics, log, clock, random
})

/**
 * Parts, each in a state in which it waits for the clock.
 * @type {Record<string, (clock: import('../../helpers/manual-clock.js').ManualClock) =>
 *   { stop: () => void, after?: () => void }>}
 */
const WAITING = {
  'channels whose subscription is not confirmed' (clock) {
    const channels = channelsOver(clock, new FakeRedis())
    ignore(channels.subscribe('x', () => {}))
    return { stop: () => channels.stop(), after: () => ignore(channels.subscribe('y', () => {})) }
  },
  'channels whose subscription was refused' (clock) {
    const channels = channelsOver(clock, new FakeRedis({ refuses: true }))
    ignore(channels.subscribe('x', () => {}))
    return { stop: () => channels.stop() }
  },
  'channels without a connection' (clock) {
    const channels = channelsOver(clock, new FakeRedis({ connects: false }))
    ignore(channels.subscribe('x', () => {}))
    return { stop: () => channels.stop() }
  },
  'a subscriber at another server' (clock) {
    const other = /** @type {any} */ ({ ready: true, server: 'old', reconnect () {} })
    const sameServer = createSameServer(() => [other], { clock, random })
    sameServer.follow({ server: 'new', generation: '' })
    sameServer.known(other)
    return sameServer
  },
  'the topology of a cluster' (clock) {
    const topology = clusterTopology(/** @type {any} */ ({ refreshSlotsCache () {} }), clock)
    topology.refresh()
    return { stop: topology.stop, after: topology.refresh }
  },
  'looks at a moved address' (clock) {
    const elsewhere = createElsewhere({ client: /** @type {any} */ (new FakeRedis()), log, clock, random })
    elsewhere.lookForAWhile()
    return { stop: elsewhere.stop, after: elsewhere.lookForAWhile }
  },
  'a connection that is up' (clock) {
    const open = () => /** @type {any} */ (new FakeRedis())
    const connection = new ReconnectingConnection({ open }, { clock, random })
    connection.start()
    return { stop: () => connection.stop() }
  },
  'a connection that is down' (clock) {
    const connection = new ReconnectingConnection({ open: () => undefined }, { clock, random })
    connection.start()
    return { stop: () => connection.stop(), after: () => connection.reconnect() }
  },
  'the wait for a replica without a connection' (clock) {
    const node = nodeWaitOver(clock, new FakeRedis({ connects: false }))
    ignore(node.start())
    return { stop: () => node.stop(), after: () => ignore(node.confirmed(undefined, 'key')) }
  },
  'a write that waits for a replica' (clock) {
    const node = nodeWaitOver(clock, new FakeRedis())
    const write = async () => node.confirmed(await node.before(true), 'key')
    for (let i = 0; i < 2; i++) ignore(write())
    return { stop: () => node.stop(), after: () => ignore(write()) }
  }
}

describe('the parts of a Redis connection leave nothing behind when they stop:', () => {
  for (const [name, begin] of Object.entries(WAITING)) {
    for (const later of [0, 200, 3100]) {
      test(`${name}, ${later} ms later`, async () => {
        const clock = manualClock()
        const { stop, after } = begin(clock)
        await clock.pass(later)
        assert.ok(clock.timers > 0 || later > 0, 'it waits for nothing')
        stop()
        after?.()
        await clock.pass(0)
        assert.equal(clock.timers, 0)
      })
    }
  }
})
