import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { Heartbeat } from '../../../src/transport/heartbeat/heartbeat.js'
import { manualClock } from '../../helpers/manual-clock.js'

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
  /** Whether its round trips are measured. */
  answersAtOnce = false
  #simulation

  /** @param {{ onPing: (conn: FakeConn) => void, onEnd: (conn: FakeConn) => void }} simulation */
  constructor (simulation) { this.#simulation = simulation }

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
  const clock = manualClock()
  const metrics = createMetrics({ processMetrics: false })
  /** @type {Conn[]} in order */
  const expired = []
  /** Further effect of a ping. @type {(conn: Conn) => void} */
  let onPing = () => {}
  let afterTimer = () => {}
  const heartbeat = new Heartbeat({
    settings: { min, max, timeout, tiers },
    tierOf: (conn) => conn.tier,
    metrics,
    clock: {
      ...clock,
      every: (ms, run) => clock.every(ms, () => {
        run()
        afterTimer()
      })
    }
  })
  heartbeat.start()

  return {
    clock,
    heartbeat,
    metrics,
    expired,
    get now () { return clock.monotonic() },
    /** @param {(conn: Conn) => void} listener */
    onPing (listener) { onPing = listener },
    /** Between the heartbeat's timer and what is to run soon after it. @param {() => void} listener */
    onTimer (listener) { afterTimer = listener },

    /** @param {string} [tier] known at once */
    connect (tier) {
      const conn = new FakeConn({
        onPing: (one) => {
          one.pings.push(clock.monotonic())
          onPing(one)
        },
        onEnd: (one) => {
          one.expiredAt = clock.monotonic()
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
    stall (ms) { clock.stall(ms) },

    /** Lets time pass, with the heartbeat's timer. @param {number} ms */
    pass (ms) { clock.advance(ms) },

    /** @param {'heartbeats' | 'late_heartbeats' | 'expired_connections'} name @returns {Promise<number>} */
    count: async (name) => (await metrics[name].get()).values[0]?.value ?? 0
  }
}
