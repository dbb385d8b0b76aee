import { createMetrics } from '../../../src/metrics/metrics.js'
import { createHeartbeat } from '../../../src/heartbeat/heartbeat.js'
import { TICK } from '../../../src/heartbeat/wheel.js'

const STEP = 100

/**
 * A heartbeat with simulated time, over connections that only record its actions.
 *
 * @typedef {FakeConn} Conn
 */
class FakeConn {
  readyState = 'open'
  /** Times of pings, ms. @type {number[]} */
  pings = []
  /** Time when it was closed, ms. @type {number | undefined} */
  expiredAt
  /** @type {string | undefined} */
  tier
  ownTimers = true
  #simulation

  /** @param {{ onPing: (conn: FakeConn) => void, onEnd: (conn: FakeConn) => void }} simulation */
  constructor (simulation) { this.#simulation = simulation }

  stopTimers () { this.ownTimers = false }
  sendPing () { this.#simulation.onPing(this) }

  terminate () {
    this.readyState = 'closed'
    this.#simulation.onEnd(this)
  }
}

/**
 * @param {{ min?: number, max?: number, timeout?: number, tiers?: { name: string, min: number, max: number, timeout:
 *   number }[] }} [settings]
 */
export function simulate ({ min = 5000, max = 25_000, timeout = 20_000, tiers = [] } = {}) {
  let now = 1000
  /** When the heartbeat's timer was due last, ms. */
  let ticked = now
  const metrics = createMetrics({ processMetrics: false })
  /** @type {Conn[]} in order */
  const expired = []
  /** Further effect of a ping. @type {(conn: Conn) => void} */
  let onPing = () => {}
  const heartbeat = createHeartbeat({
    settings: { min, max, timeout, tiers },
    tierOf: (conn) => conn.tier,
    metrics,
    now: () => now
  })

  return {
    heartbeat,
    metrics,
    expired,
    get now () { return now },
    /** @param {(conn: Conn) => void} listener */
    onPing (listener) { onPing = listener },

    /** @param {string} [tier] known at once */
    connect (tier) {
      const conn = new FakeConn({
        onPing: (one) => {
          one.pings.push(now)
          onPing(one)
        },
        onEnd: (one) => {
          one.expiredAt = now
          expired.push(one)
          heartbeat.forget(one)
        }
      })
      heartbeat.watch(conn)
      conn.tier = tier
      if (tier !== undefined) heartbeat.replan(conn)
      return conn
    },

    /** @param {Conn} conn */
    hear (conn, type = 'pong') { if (conn.readyState === 'open') heartbeat.heard(conn, type) },

    /** Lets time pass without activity. @param {number} ms */
    stall (ms) { now += ms },

    /** Lets time pass in steps of at most 100 ms, with the heartbeat's timer. @param {number} ms */
    pass (ms) {
      for (const end = now + ms; now < end;) {
        now = Math.min(now + STEP, end)
        if (now - ticked < TICK) continue
        ticked = now
        heartbeat.tick()
        while (heartbeat.turn());
      }
    },

    /** @param {'heartbeats' | 'late_heartbeats' | 'expired_connections'} name @returns {Promise<number>} */
    count: async (name) => (await metrics[name].get()).values[0]?.value ?? 0
  }
}
