import { WheelEntry } from './wheel.js'

/**
 * Decides when a connection is pinged, and when it is given up. Numbers only: no clock, no connection.
 *
 * Stock clients give up if no ping arrives for the `pingInterval` and `pingTimeout` of the handshake; other messages do
 * not count (engine.io-client, `_resetPingTimeout`). python-engineio also gives up if it has sent nothing, such as an
 * answer to a ping, for max(pingInterval, pingTimeout) + 5 s. So even on a busy connection two pings are never further
 * apart than the advertised interval.
 *
 * @typedef {object} Figures of a tier
 * @property {number} min shortest interval, ms
 * @property {number} max longest interval, ms
 * @property {number} timeout maximum time for an answer, ms
 */

/** Interval after a late answer, ms. */
const PROBE = 1000
/** Answers in time after which the interval grows by a step, and steps from the shortest to the longest. */
const ANSWERS = 2
const STEPS = 3
/** An answer that took more than this share of the timeout is late. */
const LATE = 1 / 4
/**
 * An answer is awaited as long as TCP needs to send a lost segment four times more, each time after twice the time
 * before (RFC 6298, 5.5): 1 + 2 + 4 + 8 times the first, which is at least 200 ms (Linux).
 */
const RETRANSMISSIONS = 15
const FIRST_RETRANSMISSION = 200
/** The shortest timeout is this share of the tier's: a round trip says little about a pause of the radio. */
const SHORTEST = 1 / 4
/** Pings are sent this much before the advertised interval ends, ms: two ticks of the wheel, and a busy event loop. */
const MARGIN = 700

/** Heartbeat state of one connection, kept small: six numbers and its links in the wheel. */
export class Beat extends WheelEntry {
  /** The first ping that was not answered yet, ms; -1: there is none. */
  awaited = -1
  /** Answers in time on the way from the shortest interval to the longest; below 0: that many probes to go. */
  score = 0
  /** Smoothed round trip, ms; 0: not measured, as the client may answer late by itself. */
  roundTrip = 0
  /** Smoothed deviation of `roundTrip`, ms. */
  deviation = 0

  /** @param {any} conn @param {number} now ms; for the client the handshake counts as a ping */
  constructor (conn, now) {
    super()
    this.conn = conn
    /** When something arrived last, ms. */
    this.heard = now
    /** When it was pinged last, ms. */
    this.pinged = now
  }
}

/**
 * @param {Figures} figures
 * @param {number} score
 * @returns {number} silence before the next ping, ms
 */
function intervalOf ({ min, max }, score) {
  return score < 0 ? PROBE : min + (max - min) * Math.floor(score / ANSWERS) / STEPS
}

/**
 * @param {Beat} beat
 * @param {Figures} figures
 * @returns {number} maximum time for an answer, ms: the tier's, or less where the measured round trips allow it
 */
function timeoutOf ({ roundTrip, deviation }, { timeout }) {
  if (roundTrip === 0) return timeout
  const first = Math.max(roundTrip + 4 * deviation, FIRST_RETRANSMISSION)
  return Math.min(Math.max(RETRANSMISSIONS * first, timeout * SHORTEST), timeout)
}

/**
 * @param {Beat} beat
 * @param {Figures} figures
 * @param {number} advertised longest time between two pings, ms
 * @returns {number} when there is something to do for it, ms
 */
export function dueAt (beat, figures, advertised) {
  const { heard, pinged, awaited, score } = beat
  const next = awaited < 0 ? heard + intervalOf(figures, score) : awaited + timeoutOf(beat, figures)
  return Math.min(next, pinged + advertised - MARGIN)
}

/**
 * @param {Beat} beat
 * @param {Figures} figures
 * @param {number} now ms
 * @returns {boolean} whether it is to be given up
 */
export const isDead = (beat, figures, now) => beat.awaited >= 0 && now >= beat.awaited + timeoutOf(beat, figures)

/** @param {Beat} beat @param {number} now ms */
export function pinged (beat, now) {
  beat.pinged = now
  if (beat.awaited < 0) beat.awaited = now
}

/**
 * Takes the round trip of a ping into account (RFC 6298, 2.3). An answer after two pings says nothing about either.
 * @param {Beat} beat with an unanswered ping, which this answers
 * @param {number} now ms
 */
export function measured (beat, now) {
  if (beat.pinged !== beat.awaited) return
  const time = Math.max(now - beat.awaited, 1)
  if (beat.roundTrip === 0) {
    beat.roundTrip = time
    beat.deviation = Math.ceil(time / 2)
    return
  }
  // whole numbers take no memory of their own
  beat.deviation = Math.ceil((3 * beat.deviation + Math.abs(beat.roundTrip - time)) / 4)
  beat.roundTrip = Math.ceil((7 * beat.roundTrip + time) / 8)
}

/**
 * Any message from the client answers a ping.
 * @param {Beat} beat with an unanswered ping
 * @param {Figures} figures
 * @param {number} now ms
 * @returns {boolean} whether it came late
 */
export function answered (beat, figures, now) {
  const late = now - beat.awaited > timeoutOf(beat, figures) * LATE
  beat.awaited = -1
  if (late) beat.score = -ANSWERS
  else if (beat.score < STEPS * ANSWERS) beat.score++
  return late
}
