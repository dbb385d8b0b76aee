import { setImmediate as turn } from 'node:timers/promises'
import { systemRandom } from '../../src/base/common/random.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { RedisPresence } from '../../src/people/presence/redis-presence.js'
import { Room } from '../../src/people/presence/room.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { recordingLog } from './recording-log.js'
import { storeRedis } from './store-redis.js'

/**
 * Two rooms of one document, on two workers with one store, with manual time. The store of the first can be
 * unavailable, and lose its messages, or delay them.
 * @param {import('node:test').TestContext} t
 * @param {{ maxMembers?: number }} [settings]
 */
export async function setUpRooms (t, { maxMembers = 500 } = {}) {
  let time = 0
  // versions start at the time: after the store has lost everything they must be higher, even in a fast test
  const clock = { ...systemClock, now: () => 1e12 + time }
  const { store: backend, redis } = await storeRedis(t, { clock })
  const connections = [redis, (await storeRedis(t, { clock, store: backend })).redis]
  /** @param {number} workerNumber */
  async function worker (workerNumber) {
    const newId = createSessionIds(workerNumber, { clock: systemClock, random: systemRandom })
    const control = {
      away: false, deaf: false, unanswered: false, pages: 0, held: Promise.resolve(), incarnation: String(workerNumber),
      updates: /** @type {string[][]} */ ([]),
      late: /** @type {import('../../src/people/presence/contract.js').Diff[] | null} */ (null)
    }
    /** @param {string} _ @param {import('../../src/people/presence/contract.js').Diff} diff */
    const onDiff = (_, diff) => {
      if (control.late !== null) control.late.push(diff)
      else if (!control.deaf) room.receive(diff)
    }
    const metrics = createMetrics({ processMetrics: false })
    const inner = new RedisPresence({
      redis: connections[workerNumber - 1], maxMembers, workerNumber, incarnation: () => control.incarnation, metrics,
      log: recordingLog().log, clock
    })
    const check = () => { if (control.away) throw new Error('away') }
    /** @type {Pick<RedisPresence, 'watch' | 'page' | 'mine' | 'update' | 'removalOf'>} */
    const store = {
      removalOf: (id) => inner.removalOf(id),
      async watch (guid) { check(); await inner.watch(guid) },
      async page (guid, query) {
        check()
        control.pages++
        const page = await inner.page(guid, query)
        await control.held
        return page
      },
      async mine (guid) { check(); return inner.mine(guid) },
      async update (guid, changes) {
        check()
        control.updates.push(changes.map(({ op }) => op))
        await inner.update(guid, changes)
        if (control.unanswered) throw new Error('no answer')
      }
    }
    await inner.start({ onDiff, onInterrupted: () => {}, onLost: () => {} })
    const gate = { open: true, failed: () => {}, ok: () => {} }
    const room = new Room('doc', {
      store: /** @type {RedisPresence} */ (store),
      createDelivery: (_, payload) => ({ payload, bytes: 0 }),
      onBusy: () => {},
      gate,
      now: () => time,
      maxMembers,
      metrics
    })
    return {
      room, control, gate, metrics, inner,
      /** @param {string} uid @param {string} [client] */
      join (uid, client) {
        /** @type {any[]} */
        const told = []
        const participant = {
          id: newId(),
          uid,
          client,
          identity: {},
          deliver: (/** @type {any} */ { payload }) => {
            told.push(payload)
          }
        }
        return { told, participant, membership: room.join(participant, '{}') }
      }
    }
  }
  const [one, two] = [await worker(1), await worker(2)]
  // both have replied, and after another turn what was published has arrived
  const reply = async () => {
    await Promise.all(connections.map(({ client }) => client.ping()))
    await turn()
  }
  return {
    one, two, redis,
    /** Everything that was asked for is answered, and nothing more is done. */
    async replies () { for (let i = 0; i < 10; i++) await reply() },
    /** Runs everything that is due. @param {number} [ms] */
    async pass (ms = 0) {
      time += ms
      for (let i = 0; i < 10; i++) {
        for (const { room } of [one, two]) room.work(time)
        await reply()
      }
    }
  }
}

/** @param {any[]} told */
export const uidsJoined = (told) => told.flatMap(({ joined }) => joined.map((/** @type {any} */ { uid }) => uid))

/** @param {any[] | undefined} members */
export const uidsOf = (members) => members?.map(({ uid }) => uid)
