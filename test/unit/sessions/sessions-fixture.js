import { systemRandom } from '../../../src/common/random.js'
import { InkcastError } from '../../../src/common/errors.js'
import { createMetrics } from '../../../src/metrics/metrics.js'
import { createCleaning } from '../../../src/sessions/cleaning.js'
import { createMemorySessions } from '../../../src/sessions/memory-sessions.js'
import { createSessions } from '../../../src/sessions/registry.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

export const GRACE = 5000

/** Some workers with one store, and an uplink that can be unavailable. */
export function cluster () {
  const clock = manualClock(1_700_000_000_000)
  const { log } = recordingLog()
  const store = createMemorySessions()
  const state = { storeAway: false, held: true, uplinkAway: /** @type {null | 'unavailable' | 'timeout'} */ (null) }
  /** @type {import('../../../src/uplink/contract.js').UplinkRecord[]} */
  const records = []
  const uplink = {
    send: async (/** @type {import('../../../src/uplink/contract.js').UplinkRecord} */ record) => {
      if (state.uplinkAway === 'unavailable') throw new InkcastError('unavailable')
      records.push(record)
      if (state.uplinkAway === 'timeout') throw new InkcastError('timeout')
    }
  }
  /** The store, which can be unavailable for workers. @type {any} */
  const reached = new Proxy(store, {
    get: (target, name) =>
      state.storeAway
        ? async () => {
          throw new InkcastError('unavailable')
        }
        : Reflect.get(target, name)
  })

  /** @param {number} number */
  function worker (number) {
    /** @type {Map<string, Set<any>>} */
    const connections = new Map()
    const metrics = createMetrics({ processMetrics: false })
    const connectionsOf = (/** @type {string} */ uid) => connections.get(uid) ?? []
    const self = () => ({ number, incarnation: 1000, held: state.held })
    const sessions = createSessions({
      store: reached,
      uplink,
      worker: self,
      connectionsOf, metrics, log, clock,
      grace: GRACE,
      silence: 45_000,
      random: systemRandom
    })
    let serial = 0
    /** @param {string} uid @param {string[]} [guids] */
    function connect (uid, guids = []) {
      /** @type {Set<string>} */
      const open = new Set()
      const connection = {
        id: `${number}-${uid}-${serial++}`,
        uid,
        client: undefined,
        transport: 'websocket',
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
      clean: () => createCleaning({ store, uplink, log, clock })(number, 1000, new AbortController().signal)
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
    return records
      .splice(0)
      .map(({ operator, uid, guid, value }) =>
        [operator, uid, guid, JSON.parse(value.toString()).reason].filter((part) => part !== undefined).join(' ')
      )
  }
  return { one: workers[0], two: workers[1], store, state, clock, records, rounds, told }
}
