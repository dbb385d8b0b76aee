/**
 * Arguments of `npm run simulate`.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'

/**
 * Parts that are left out of a world, so that a failure becomes easier to read.
 *
 * @typedef {object} Without
 * @property {number[]} [faults] indexes in the plan
 * @property {number} [clients] at most
 * @property {number} [documents] at most
 * @property {number} [records] at most
 * @property {number} [duration] ms
 *
 * @typedef {object} Range
 * @property {number} from
 * @property {number} to included
 *
 * @typedef {object} Options
 * @property {Range[]} seeds
 * @property {boolean} named the run begins with the named seeds
 * @property {number | undefined} minutes after which no seed is begun; undefined: no limit
 * @property {string} scenario
 * @property {number} processes
 * @property {boolean} keepGoing after a seed that failed
 * @property {boolean} shrink
 * @property {boolean} checked also looks for what the seed does not decide
 * @property {boolean} lines prints each turn
 * @property {string | undefined} page file for the diagram
 * @property {boolean} save
 * @property {Without} without
 */

/** Seeds are 32 bits. */
const MAX_SEED = 2 ** 32 - 1
const COUNTS = /** @type {const} */ (['clients', 'documents', 'records', 'duration'])

export const USAGE = `Usage: npm run simulate -- [options]

Runs inkcast in simulated worlds: one for each seed, with virtual time, faults and a check of each promise.

  --seed N               one seed; repeats exactly what happened in it
  --seeds A..B[,C..D]    these seeds, after the named ones; default 1..100
  --minutes N            as many seeds as fit; without --seeds from a first seed that the time decides
  --scenario NAME        default: default
  --processes N          default: one per core
  --keep-going           continue after a seed that failed
  --no-shrink            do not search for a shorter schedule that fails as well
  --checked              also look for work beside the world, which the seed does not decide; slower
  --lines                print each turn of the seed
  --page FILE            write a space-time diagram (HTML) of the seed, or of the first one that failed
  --save                 write the summary to bench/results/simulation.md
  --duration MS          of the traffic at most; not of the named seeds
  --help

To leave parts of a world out, with --seed:
  --without-faults A..B,C    faults by their number in the schedule
  --clients N --documents N --records N    at most

Exit codes: 0 no violation, 1 a violation, 2 wrong arguments.`

/**
 * @param {string[]} args
 * @param {object} [from]
 * @param {number} [from.now] time of day, ms: decides the first seed of --minutes
 * @param {number} [from.cores]
 * @returns {Options | undefined} undefined: help is wanted
 * @throws {Error} for wrong arguments
 */
export function readOptions (args, { now = Date.now(), cores = availableParallelism() } = {}) {
  const { values } = parseArgs({
    args, allowNegative: true,
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      scenario: { type: 'string', default: 'default' },
      processes: { type: 'string', default: String(cores) },
      'keep-going': { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: true },
      checked: { type: 'boolean', default: false },
      lines: { type: 'boolean', default: false },
      page: { type: 'string' },
      save: { type: 'boolean', default: false },
      'without-faults': { type: 'string' },
      clients: { type: 'string' },
      documents: { type: 'string' },
      records: { type: 'string' },
      duration: { type: 'string' },
      help: { type: 'boolean', default: false }
    }
  })
  if (values.help) return undefined
  const { seed, seeds, minutes } = values
  if (seed !== undefined && (seeds !== undefined || minutes !== undefined)) throw new Error('--seed goes without --seeds and --minutes')
  if (seed === undefined && values.lines) throw new Error('--lines needs --seed')
  const without = readWithout(values)
  if (seed === undefined && Object.keys(without).some((name) => name !== 'duration'))
    throw new Error('parts are left out of one world: add --seed')
  return {
    seeds: seed !== undefined ? [one(number('seed', seed, 0, MAX_SEED))]
      : seeds !== undefined ? ranges('seeds', seeds, MAX_SEED)
        : minutes !== undefined ? [{ from: Math.floor(now / 1000) % 2 ** 31, to: MAX_SEED }]
          : [{ from: 1, to: 100 }],
    named: seed === undefined,
    minutes: minutes === undefined ? undefined : positive('minutes', minutes),
    scenario: values.scenario,
    processes: number('processes', values.processes, 1, 1024),
    keepGoing: values['keep-going'],
    shrink: values.shrink,
    checked: values.checked,
    lines: values.lines,
    page: values.page,
    save: values.save,
    without
  }
}

/**
 * @param {{ [name: string]: string | boolean | undefined }} values
 * @returns {Without}
 */
function readWithout (values) {
  /** @type {Without} */
  const without = {}
  const faults = values['without-faults']
  if (typeof faults === 'string') {
    // a schedule has some hundred faults at most
    without.faults = ranges('without-faults', faults, 9999)
      .flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i))
  }
  for (const name of COUNTS) {
    const value = values[name]
    if (typeof value === 'string') without[name] = number(name, value, 0, 2 ** 31)
  }
  return without
}

/**
 * @param {Without} without
 * @returns {string} options that say the same
 */
export function withoutOptions (without) {
  const parts = COUNTS.flatMap((name) => without[name] === undefined ? [] : [`--${name} ${without[name]}`])
  if (without.faults !== undefined && without.faults.length > 0) parts.unshift(`--without-faults ${joined(without.faults)}`)
  return parts.join(' ')
}

/** @param {number[]} numbers @returns {string} with ranges */
function joined (numbers) {
  /** @type {Range[]} */
  const all = []
  for (const each of [...numbers].sort((a, b) => a - b)) {
    const last = all.at(-1)
    if (last !== undefined && each <= last.to + 1) last.to = each
    else all.push(one(each))
  }
  return all.map(({ from, to }) => from === to ? `${from}` : `${from}..${to}`).join(',')
}

/** @param {number} value @returns {Range} */
const one = (value) => ({ from: value, to: value })

/** @param {string} name @param {string} text @param {number} max @returns {Range[]} */
function ranges (name, text, max) {
  return text.split(',').map((part) => {
    const [from, to = from, ...more] = part.split('..')
    const range = { from: number(name, from, 0, max), to: number(name, to, 0, max) }
    if (more.length > 0 || range.to < range.from) throw new Error(`--${name}: ${part} is not a range such as 1..5000`)
    return range
  })
}

/** @param {string} name @param {string} text @param {number} min @param {number} max @returns {number} */
function number (name, text, min, max) {
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (!(value >= min && value <= max)) throw new Error(`--${name}: ${text} is not a whole number from ${min} to ${max}`)
  return value
}

/** @param {string} name @param {string} text @returns {number} */
function positive (name, text) {
  const value = Number(text)
  if (!(value > 0 && value < Infinity)) throw new Error(`--${name}: ${text} is not a number above 0`)
  return value
}
