/**
 * The figures that must not grow in a soak, and the check whether they did.
 */
import { EXPIRING, LASTING, PASSING } from './keys.js'
import { growthOf } from './statistics.js'

/**
 * @typedef {import('./measure.js').Sample} Sample
 * @typedef {import('./statistics.js').Growth} Growth
 *
 * @typedef {object} Figure
 * @property {string} name
 * @property {'bytes' | 'count'} unit
 * @property {(sample: Sample) => { value: number, owner: string } | undefined} read
 * @property {(sample: Sample) => number} [rest] in place of it without clients
 * @property {number} back how much of it may be left at the end, beyond what was there before the clients, percent
 * @property {number} spare the same, as a number
 * @property {boolean} [isTold] it explains another figure, and has no limit
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {'bytes' | 'count'} unit
 * @property {Growth | undefined} growth undefined: too few samples
 * @property {number | undefined} start before the clients came; undefined: not known
 * @property {number | undefined} end after they left
 * @property {string[]} problems
 */

/** Growth, percent. */
export const LIMIT = 1
const ROLES = ['launcher', 'gateway', 'api', 'ingest']

/**
 * @param {'heapUsed' | 'code' | 'descriptors'} key
 * @param {string} role
 * @returns {Figure['read']} of all processes of the role together: connections move between them
 */
const ofRole = (key, role) => ({ processes }) => {
  const own = processes.filter((process) => process.role === role)
  if (own.length === 0) return undefined
  return { value: own.reduce((sum, process) => sum + process[key], 0), owner: own.map(({ pid }) => pid).sort().join() }
}

/** @param {Sample} sample @param {string[]} without groups @returns {number} */
const keysOf = ({ keys }, without) =>
  Object.entries(keys).reduce((sum, [group, count]) => without.includes(group) ? sum : sum + count, 0)
/** Groups that may be there when the clients have left. */
const LEFT_OUT = [...LASTING, ...EXPIRING]

const MB = 1e6

/** @type {Figure[]} */
export const FIGURES = [
  ...ROLES.map((role) => /** @type {Figure} */ ({
    name: `heap, ${role}`, unit: 'bytes', read: ofRole('heapUsed', role), back: 10, spare: 2 * MB
  })),
  ...ROLES.map((role) => /** @type {Figure} */ ({
    name: `compiled code in it, ${role}`, unit: 'bytes', read: ofRole('code', role), back: 0, spare: 0, isTold: true
  })),
  ...ROLES.map((role) => /** @type {Figure} */ ({
    name: `descriptors, ${role}`, unit: 'count', read: ofRole('descriptors', role), back: 0, spare: 4
  })),
  {
    name: 'keys of Redis', unit: 'count', back: 0, spare: 0,
    read: (sample) => ({ value: keysOf(sample, [...LASTING, ...PASSING]), owner: '' }),
    rest: (sample) => keysOf(sample, LEFT_OUT)
  },
  {
    name: 'keys of Redis that never expire', unit: 'count', back: 0, spare: 0,
    read: ({ redis }) => ({ value: redis.lasting, owner: '' })
  },
  {
    name: 'subscriptions of Redis', unit: 'count', read: ({ redis }) => ({ value: redis.channels, owner: '' }), back: 0,
    spare: 0
  },
  { name: 'series of metrics', unit: 'count', read: ({ series }) => ({ value: series, owner: '' }), back: 5, spare: 10 }
]

/**
 * @param {Sample[]} samples
 * @param {object} options
 * @param {number} options.from minute from which growth is measured; for a process that began later, counted from
 *   its first sample
 * @param {number} options.to
 * @param {number} options.connections of the clients; a sample with fewer cannot be compared, and does not count
 * @param {number} [options.limit] growth, percent
 * @returns {Row[]}
 */
export function judge (samples, { from, to, connections, limit = LIMIT }) {
  const inTime = samples.filter(({ phase, at }) => phase !== 'end' && at <= to)
  return FIGURES.flatMap(({ name, unit, read, rest, back, spare, isTold = false }) => {
    /** First sample of each owner. @type {Map<string, number>} */
    const since = new Map()
    const points = inTime.flatMap((sample) => {
      const { at, phase } = sample
      const point = read(sample)
      if (point === undefined) return []
      if (!since.has(point.owner)) since.set(point.owner, Math.max(0, at - 1))
      const isWarm = at >= from + (since.get(point.owner) ?? 0)
      return phase === 'load' && sample.connections === connections && isWarm ? [{ at, ...point }] : []
    })
    const one = (/** @type {Sample['phase']} */ phase) => {
      const sample = samples.findLast((each) => each.phase === phase)
      if (sample === undefined) return undefined
      return rest === undefined ? read(sample)?.value : rest(sample)
    }
    const [start, end] = [one('empty'), one('end')]
    if (points.length === 0 && start === undefined) return []
    const growth = growthOf(points)
    /** @type {string[]} */
    const problems = []
    if (isTold) return [{ name, unit, growth, start, end, problems }]
    // the interval keeps noise from failing a run; a leak is far outside of it after some minutes
    if (growth !== undefined && growth.growth > limit && growth.low > 0)
      problems.push(`${name}: growth of ${growth.growth.toFixed(1)} % (${growth.low.toFixed(1)} to ${growth.high.toFixed(1)} %), limit ` +
        `${limit} %`)
    if (start !== undefined && end !== undefined && end > start + Math.max(spare, start * back / 100))
      problems.push(`${name}: ${shown(end, unit)} after all clients left, ${shown(start, unit)} before they ` +
        `came${name.startsWith('keys') ? added(samples) : ''}`)
    return [{ name, unit, growth, start, end, problems }]
  })
}

/** @param {Sample[]} samples @returns {string} groups of keys that are left */
function added (samples) {
  const [start, end] = ['empty', 'end'].map((name) => samples.findLast(({ phase }) => phase === name)?.keys ?? {})
  return Object.entries(end).filter(([group, count]) => !LEFT_OUT.includes(group) && count > (start[group] ?? 0))
    .map(([group, count]) => `; ${group}: ${count}, ${start[group] ?? 0} before`).join('')
}

/** @param {number} value @param {Figure['unit']} unit @returns {string} */
export const shown = (value, unit) => unit === 'bytes'
  ? `${(value / MB).toFixed(2)} MB`
  : value.toLocaleString('en-US', { maximumFractionDigits: 1 })
