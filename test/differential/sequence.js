import { drawCommand, mistaken } from './commands.js'
import { Draw } from './draw.js'
import { GENERATION } from './peer.js'
import { DOCUMENT_CALLS, LOG_CALLS } from './scripts-of-documents.js'
import { PEOPLE_CALLS, REQUEST_CALLS, UPLINK_CALLS, WORKER_CALLS } from './scripts-of-workers.js'
import { drawState } from './states.js'
import { CHANNELS } from './world.js'

export const CONNECTIONS = 3
const THEMES = [
  DOCUMENT_CALLS, LOG_CALLS, LOG_CALLS, WORKER_CALLS, PEOPLE_CALLS, REQUEST_CALLS, UPLINK_CALLS
]

/** Times that pass, ms: around the lifetimes and pauses of scripts. */
const DAY = 86_400_000
const PASSES = [
  0.25, 1, 499, 500, 1000, 1001, 2000, 3000, 3001, 5000, 10_000, 60_000, 61_000, 3_600_000, 6 * DAY, 14 * DAY
]

/**
 * A step is either a command on a connection, or time that passes (us; negative: the clock is set back).
 *
 * @typedef {{ on: number, args: string[], unordered?: import('./commands.js').Unordered, alone?: boolean }} Step on:
 *   number of the connection; alone: sent without others, because its replies cannot be counted
 * @typedef {{ pass: number }} Pass
 *
 * @typedef {object} Sequence
 * @property {number} start wall clock, us
 * @property {(Step | Pass)[]} steps
 */

/**
 * @param {number} seed
 * @param {Map<string, string>} shas of the scripts by their names
 * @returns {Sequence} 20 to 200 steps, the same for a seed
 */
export function drawSequence (seed, shas) {
  const draw = new Draw(seed)
  const start = 1_700_000_000_000_000 + draw.int(0, 1_000_000_000_000)
  let us = start
  const world = () => ({ generation: GENERATION, ms: Math.floor(us / 1000) })
  const themes = draw.list(1, 2, () => draw.pick(THEMES))
  const plain = draw.pick([0.1, 0.2, 0.6])
  const turns = draw.pick([0.05, 0.1, 0.3])
  /** @type {(Step | Pass)[]} */
  const steps = []
  if (draw.chance(0.7)) {
    steps.push({ on: 2, args: ['HELLO', '3'], unordered: 'hello', alone: true })
    steps.push({ on: 2, args: ['SSUBSCRIBE', ...CHANNELS], alone: true })
  }
  let on = 0
  const count = draw.int(20, 200)
  while (steps.length < count) {
    if (draw.chance(turns)) on = draw.int(0, CONNECTIONS - 1)
    if (draw.chance(0.07)) {
      const back = draw.chance(0.05)
      const ms = back ? -draw.pick([1, 1000, 100_000]) : draw.pick(draw.chance(0.7) ? PASSES.slice(0, 9) : PASSES)
      const pass = ms * 1000 + draw.pick([0, 0, 1, 999])
      us += pass
      steps.push({ pass })
    }
    if (draw.chance(plain)) {
      steps.push({ on, ...draw.chance(0.2) ? drawState(draw, world()) : drawCommand(draw, world()) })
      continue
    }
    const theme = draw.pick(themes)
    const name = draw.pick(Object.keys(theme))
    const { keys, args, unordered } = theme[name](draw, world())
    const all = mistaken(draw, [name, ...keys, ...args])
    // a mistake may have changed the number of arguments, or replaced the script
    const sha = shas.get(all[0]) ?? 'f'.repeat(40)
    steps.push({ on, args: ['EVALSHA', sha, String(Math.min(keys.length, all.length - 1)), ...all.slice(1)], unordered })
  }
  return { start, steps }
}
