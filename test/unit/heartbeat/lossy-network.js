import { seededRandom } from '../../helpers/random.js'
import { simulate } from './simulation.js'

/** A way through a network of phones: ms to the other side, and the share of segments that are lost. */
const [LATENCY, JITTER, LOSS] = [150, 50, 0.02]
/** TCP's first retransmission on such a way, ms; each further one takes twice as long. */
const FIRST_RETRANSMISSION = 500
const STEP = 50

/**
 * Devices that answer each ping at once over a lossy network; at the end all of them vanish without a word.
 *
 * @param {object} options
 * @param {boolean} options.measured whether their round trips set the timeouts
 * @param {number} options.devices
 * @param {number} options.hours of life
 * @returns {{ falseCloses: number, noticed: number[] }} noticed: ms from the end of a device to
 *   the end of its connection, ascending
 */
export function onLossyNetwork ({ measured, devices, hours }) {
  const random = seededRandom(7)
  const simulation = simulate()
  /** @type {{ at: number, conn: import('./simulation.js').Conn }[]} */
  let answers = []
  let alive = true

  /** @returns {number} ms that a segment takes, with its retransmissions */
  function trip () {
    let time = LATENCY + random() * JITTER
    for (let wait = FIRST_RETRANSMISSION; random() < LOSS; wait *= 2) time += wait
    return time
  }

  /** @param {number} ms */
  function pass (ms) {
    for (const end = simulation.now + ms; simulation.now < end;) {
      simulation.pass(STEP)
      const due = answers.filter(({ at }) => at <= simulation.now)
      if (due.length === 0) continue
      answers = answers.filter(({ at }) => at > simulation.now)
      for (const { conn } of due) if (conn.readyState === 'open') simulation.hear(conn)
    }
  }

  simulation.onPing((conn) => { if (alive) answers.push({ at: simulation.now + trip() + trip(), conn }) })
  const conns = Array.from({ length: devices }, () => {
    pass(STEP)
    return Object.assign(simulation.connect(), { answersAtOnce: measured })
  })
  pass(hours * 3_600_000)
  const falseCloses = simulation.expired.length
  const living = conns.filter(({ readyState }) => readyState === 'open')
  alive = false
  answers = []
  const death = simulation.now
  pass(60_000)
  return {
    falseCloses,
    noticed: living.map(({ expiredAt = Infinity }) => expiredAt - death).sort((a, b) => a - b)
  }
}
