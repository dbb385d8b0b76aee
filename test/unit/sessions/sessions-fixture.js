import { systemRandom } from '../../../src/base/common/random.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createKeys } from '../../../src/redis/keys.js'
import { createCleaning } from '../../../src/people/sessions/cleaning.js'
import { createRedisSessions } from '../../../src/people/sessions/redis-sessions.js'
import { Sessions } from '../../../src/people/sessions/registry.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { storeRedis } from '../../helpers/store-redis.js'

const { workers: WORKERS } = createKeys()

export const GRACE = 5000

/** Some workers with one store, and an uplink that can be unavailable. @param {import('node:test').TestContext} t */
export async function cluster (t) {
  const clock = manualClock(1_700_000_000_000)
  const { log } = recordingLog()
  const { redis } = await storeRedis(t)
  /** Redis Cluster when a node is down: `down` says which keys it has. */
  const nodes = {
    ...redis,
    get isCluster () { return state.down !== null },
    scripts: {
      ...redis.scripts,
      hold: calls('hold'),
      ended: calls('ended')
    }
  }
  /** @param {'hold' | 'ended'} script @returns {(keys: string[], args: any[]) => Promise<any>} */
  function calls (script) {
    return async (keys, args) => {
      await reach(keys)
      return redis.scripts[script](keys, args)
    }
  }
  /** @param {string[]} keys */
  async function reach ([key]) {
    if (!state.down?.(key)) return
    state.failures++
    throw new InkcastError('unavailable')
  }
  const store = createRedisSessions({ redis: /** @type {any} */ (nodes) })
  const lease = (/** @type {number} */ number, /** @type {number} */ incarnation) =>
    redis.client.hset(WORKERS.incarnations, String(number), incarnation)
  await Promise.all([1, 2].map((number) => lease(number, 1000)))
  const state = {
    storeAway: false, keepsDocuments: false, held: true,
    down: /** @type {null | ((key: string) => boolean)} */ (null),
    /** Calls that a node that is down has failed. */
    failures: 0,
    /** 'vacated': for these events. */
    uplinkAway: /** @type {null | 'unavailable' | 'timeout' | 'vacated'} */ (null)
  }
  /** @type {import('../../../src/log/publish/uplink.js').UplinkRecord[]} */
  const records = []
  const uplink = {
    send: async (/** @type {import('../../../src/log/publish/uplink.js').UplinkRecord} */ record) => {
      if (state.uplinkAway === 'unavailable' || state.uplinkAway === record.operator) throw new InkcastError('unavailable')
      records.push(record)
      if (state.uplinkAway === 'timeout') throw new InkcastError('timeout')
    }
  }
  /** The store while Redis does not execute releases of documents: its other nodes do what they are asked. */
  const keeping = createRedisSessions({
    redis: /** @type {any} */ ({
      ...redis,
      scripts: {
        ...redis.scripts,
        hold: async (/** @type {string[]} */ keys, /** @type {any[]} */ args) => {
          const releases = args.slice(2).some((change, i) => keys[i].includes('{d:') && /^-.$/.test(change))
          if (releases) throw new InkcastError('unavailable')
          return redis.scripts.hold(keys, args)
        }
      }
    })
  })
  /** The store, which can be unavailable for workers. @type {any} */
  const reached = new Proxy(store, {
    get: (target, name) =>
      state.storeAway
        ? async () => {
          throw new InkcastError('unavailable')
        }
        : Reflect.get(state.keepsDocuments ? keeping : target, name)
  })

  /** @param {number} number */
  function worker (number) {
    /** @type {Map<string, Set<any>>} */
    const connections = new Map()
    const metrics = createMetrics({ processMetrics: false })
    const connectionsOf = (/** @type {string} */ uid) => connections.get(uid) ?? []
    const self = () => ({ number, incarnation: 1000, held: state.held })
    const sessions = new Sessions({ log, metrics, clock, random: systemRandom }, {
      store: reached,
      uplink,
      worker: self,
      connectionsOf,
      grace: GRACE,
      silence: 45_000
    })
    let serial = 0
    /**
     * @param {string} uid
     * @param {string[]} [guids]
     * @param {{ client?: string, exclusive?: boolean, listener?: string }} [more] of its connection
     */
    function connect (uid, guids = [], more = {}) {
      /** @type {Set<string>} */
      const open = new Set()
      const connection = {
        id: `${number}-${uid}-${serial++}`,
        uid,
        client: /** @type {string | undefined} */ (undefined),
        transport: 'websocket',
        exclusive: false,
        listener: 'socketio',
        ...more,
        get lastSeen () {
          return clock.now()
        },
        openDocuments: () => [...open]
      }
      connections.set(uid, (connections.get(uid) ?? new Set()).add(connection))
      sessions.connected(connection)
      const tab = {
        ...connection,
        /** @param {string} guid */
        join (guid) {
          open.add(guid)
          sessions.joined(connection, guid)
        },
        /** @param {string} guid @param {string} [reason] */
        leave (guid, reason = 'left') {
          open.delete(guid)
          sessions.left(connection, guid, reason)
        },
        /** @param {string} [reason] */
        end (reason = 'closed') {
          connections.get(uid)?.delete(connection)
          for (const guid of [...open]) tab.leave(guid, reason)
          sessions.disconnected(connection, reason)
        }
      }
      for (const guid of guids) tab.join(guid)
      return tab
    }
    return {
      sessions,
      metrics,
      connect,
      clean: () => createCleaning({ store, uplink, log, clock, random: systemRandom, silence: 45_000 })(
        number, 1000, new AbortController().signal, true
      )
    }
  }

  const workers = [worker(1), worker(2)]
  /** Completes all pending writes and events. */
  async function rounds () {
    for (let i = 0; i < 8; i++) {
      for (const { sessions } of workers) await sessions.run()
      await new Promise((resolve) => { setImmediate(resolve) })
    }
  }
  /** @returns {Promise<string[]>} events since the last call */
  async function told () {
    await rounds()
    return records.splice(0)
      .map(({ operator, uid, guid, value }) =>
        [operator, uid, guid, JSON.parse(value.toString()).reason].filter((part) => part !== undefined).join(' ')
      )
  }
  /** The first worker continues under another name. */
  async function reborn () {
    await lease(1, 2000)
    workers[0].sessions.reborn(2000)
  }
  return { one: workers[0], two: workers[1], reborn, store, state, clock, records, rounds, told }
}
