import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../helpers/random.js'
import { simulate } from './simulation.js'

/** Maximum delay of the heartbeat's timer, ms: there are no guarantees for a blocked process. */
const LAG = 150
const SEEDS = 60
const DURATION = 20 * 60_000

/**
 * A client, its network, and the rules by which stock clients give up. Packets arrive in order, each with its own
 * delay.
 *
 * @param {ReturnType<typeof simulate>} simulation
 * @param {() => number} random
 * @param {{ min: number, max: number, timeout: number }} settings
 */
function createClient (simulation, random, { max, timeout }) {
  const conn = simulation.connect(['editors', 'readers', undefined][Math.floor(random() * 3)])
  const opened = simulation.now
  // some clients only send answers, some send all the time
  const chatter = random() < 0.5 ? 0 : random() * 0.02
  const slowness = random() < 0.5 ? 0.02 : 0.4
  const diesAt = random() < 0.4 ? opened + random() * DURATION : Infinity
  const client = { conn, opened, diesAt, gaveUp: '', seen: 0, lastHeard: opened }
  /** Arrival times at the client, ms. @type {number[]} */
  const down = []
  /** @type {{ at: number, type: string }[]} arrival at the gateway */
  const up = []
  let [lastPing, lastSent, lastDown, lastUp] = [opened, opened, opened, opened]
  // the sum is within the timeout, with room for the timer, so that a living client answers in time
  const patience = (Math.min(timeout, 2000, ...conn.tier === undefined ? [] : [1000]) - 400) / 2
  const delay = () => random() < slowness ? random() * patience : random() * Math.min(50, patience)

  /** @param {number} now @param {string} type */
  function send (now, type) {
    lastSent = now
    up.push({ at: lastUp = Math.max(lastUp, now + delay()), type })
  }

  return Object.assign(client, {
    /** @param {number} now */
    step (now) {
      for (; client.seen < conn.pings.length; client.seen++)
        down.push((lastDown = Math.max(lastDown, conn.pings[client.seen] + delay())))
      if (now < diesAt) {
        while (down.length > 0 && down[0] <= now) {
          lastPing = /** @type {number} */ (down.shift())
          send(now, 'pong')
        }
        if (random() < chatter) send(now, 'message')
        // engine.io-client, lib/socket.ts, _resetPingTimeout
        if (now - lastPing > max + timeout) client.gaveUp = 'no ping'
        // python-engineio, client.py, _write_loop
        if (now - lastSent > Math.max(max, timeout) + 5000) client.gaveUp = 'nothing to send'
      }
      while (up.length > 0 && up[0].at <= now) {
        client.lastHeard = now
        simulation.hear(conn, /** @type {{ type: string }} */ (up.shift()).type)
      }
    }
  })
}

/** @param {() => number} random */
function randomSettings (random) {
  const between = (/** @type {number} */ low, /** @type {number} */ high) => Math.floor(low + random() * (high - low))
  const max = between(3000, 60_000)
  const timeout = between(2000, 30_000)
  const tier = (/** @type {string} */ name) => {
    const most = between(1000, max)
    return { name, max: most, min: between(1000, most), timeout: between(1000, timeout) }
  }
  return { max, timeout, min: between(1000, max), tiers: [tier('editors'), tier('readers')] }
}

test('for random clients and networks, pings are frequent enough, living connections stay and dead ones are detected in time', () => {
  const seen = { pings: 0, dead: 0, living: 0 }
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed)
    const settings = randomSettings(random)
    const simulation = simulate(settings)
    const clients = Array.from({ length: 8 }, () => {
      simulation.pass(Math.floor(random() * 500))
      return createClient(simulation, random, settings)
    })
    const end = simulation.now + DURATION
    while (simulation.now < end) {
      simulation.stall(Math.floor(random() * LAG))
      simulation.pass(100)
      for (const client of clients) client.step(simulation.now)
    }
    for (const [i, { conn, opened, diesAt, gaveUp, lastHeard }] of clients.entries()) {
      const who = `seed ${seed}, client ${i}, ${JSON.stringify(settings)}`
      seen.pings += conn.pings.length
      let last = opened
      for (const ping of [...conn.pings, conn.expiredAt ?? end]) {
        assert.ok(ping - last <= settings.max, `${ping - last} ms between two pings: ${who}`)
        last = ping
      }
      assert.equal(gaveUp, '', who)
      if (diesAt > end) {
        seen.living++
        assert.equal(conn.expiredAt, undefined, `a living connection was closed: ${who}`)
      } else if (diesAt + settings.max + settings.timeout <= end) {
        seen.dead++
        assert.ok(conn.expiredAt !== undefined && conn.expiredAt >= diesAt, `never detected: ${who}`)
        // packets of a dead client may still be in flight
        const found = conn.expiredAt - Math.max(diesAt, lastHeard)
        assert.ok(found <= settings.max + settings.timeout, `detected after ${found} ms: ${who}`)
      }
    }
  }
  assert.ok(seen.pings > 10_000 && seen.dead > 100 && seen.living > 100, JSON.stringify(seen))
})

test('with a longest interval of 60 s healthy connections get at most 45 % of the packets that 25 s would need, from the first hour on',
  () => {
    const simulation = simulate({ max: 60_000 })
    simulation.onPing((conn) => simulation.hear(conn))
    const conn = simulation.connect()
    simulation.pass(3_600_000)
    assert.ok(conn.pings.length <= (0.45 * 3600) / 25, `${conn.pings.length} pings`)
  })
