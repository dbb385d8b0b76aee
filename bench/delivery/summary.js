/**
 * Aggregates rounds to one line per system and phase.
 */
import { round } from '../measure/quantiles.js'

const INKCAST = 'inkcast'
/** Begin of the names of inkcast with clients of another protocol than Socket.IO. */
const OTHER_CLIENTS = 'inkcast, '

/**
 * @typedef {import('./phases.js').RoundResult} RoundResult
 * @typedef {import('./phases.js').Remembered} Remembered
 * @typedef {import('./session.js').Delivered} Delivered
 *
 * @typedef {object} Costs in us, means of the rounds
 * @property {number} cpuUs of the server processes
 * @property {number} systemUs kernel part of cpuUs
 * @property {number} redisUs
 * @property {number} kafkaUs
 *
 * @typedef {object} Quality
 * @property {number} p50 ms, of the worst round, like all latencies
 * @property {number} p99
 * @property {number} max
 *
 * @typedef {object} DeliveryExtra
 * @property {number} deliveries of all rounds
 * @property {number} missing of all rounds, like the next two
 * @property {number} doubled
 * @property {number} disordered
 * @property {number} bytes per delivery
 * @property {number} perSecond
 * @property {number} lateMs
 * @property {number} clientUs
 * @property {number} clientBusy
 * @property {number} others share of the machine that programs outside the benchmark used, 0 to 1, of the worst round
 * @property {Record<string, number>} roles us per delivery, by process role
 *
 * @typedef {Costs & Quality & DeliveryExtra} DeliveryLine
 * @typedef {Costs & Quality & { attempted: number, failed: number, failures: Record<string, number>, residentKb: number
 *   }} ConnectLine
 *
 * @typedef {object} SystemSummary
 * @property {string} system
 * @property {ConnectLine} [connect]
 * @property {import('./phases.js').Idle} [idle]
 * @property {DeliveryLine} [burst]
 * @property {DeliveryLine} [single]
 * @property {DeliveryLine} [steady]
 * @property {{ count: number, line: DeliveryLine }[]} members
 * @property {{ count: number, line: DeliveryLine }[]} documents
 * @property {Remembered} [memory]
 * @property {Partial<Record<'burst' | 'single' | 'steady', number[]>>} [pairs] of other clients of inkcast: CPU per
 *   delivery relative to Socket.IO's clients in the same round
 * @property {number} unconnected clients whose handshakes failed
 * @property {number} lost connections that were closed from outside
 */

/**
 * @param {RoundResult[]} rounds
 * @returns {SystemSummary[]} in the order of their runs
 */
export function summarize (rounds) {
  return [...new Set(rounds.map(({ system }) => system))].map((system) => {
    const own = rounds.filter((each) => each.system === system)
    /** @template {keyof RoundResult} K @param {K} name @returns {NonNullable<RoundResult[K]>[]} */
    const all = (name) =>
      own.flatMap((each) => (each[name] === undefined ? [] : [/** @type {NonNullable<RoundResult[K]>} */ (each[name])]))
    /** @template T @template R @param {T[]} list @param {(list: T[]) => R} combine */
    const some = (list, combine) => list.length === 0 ? undefined : combine(list)
    return {
      system,
      connect: some(all('connect'), connectLine),
      idle: some(all('idle'), (list) => ({ ...means(list, ['cpuMs', 'redisMs', 'kafkaMs']), roles: meanRoles(list) })),
      burst: some(all('burst'), deliveryLine),
      single: some(all('single'), deliveryLine),
      steady: some(all('steady'), deliveryLine),
      members: byCount(all('members').flat().map(({ members, delivered }) => ({ count: members, delivered }))),
      documents: byCount(all('documents').flat().map(({ documents, delivered }) => ({ count: documents, delivered }))),
      memory: some(all('memory'), (list) => means(list, ['connections', 'openedKb', 'workerKb', 'allKb', 'idleMs'])),
      pairs: system.startsWith(OTHER_CLIENTS)
        ? pairsOf(own, rounds.filter((each) => each.system === INKCAST))
        : undefined,
      unconnected: total(own.map(({ unconnected }) => unconnected)),
      lost: own.reduce((sum, { lost }) => sum + total(Object.values(lost)), 0)
    }
  })
}

/**
 * @param {RoundResult[]} own
 * @param {RoundResult[]} reference
 * @returns {SystemSummary['pairs']}
 */
function pairsOf (own, reference) {
  const ratios = (/** @type {'burst' | 'single' | 'steady'} */ phase) => own.flatMap((each, i) => {
    const [mine, theirs] = [each[phase]?.cpuUs, reference[i]?.[phase]?.cpuUs]
    return mine === undefined || theirs === undefined ? [] : [round(mine / theirs, 3)]
  })
  return { burst: ratios('burst'), single: ratios('single'), steady: ratios('steady') }
}

/** @param {Delivered[]} list @returns {DeliveryLine} */
function deliveryLine (list) {
  return {
    ...means(list, ['cpuUs', 'systemUs', 'redisUs', 'kafkaUs', 'bytes', 'perSecond']),
    ...worst(list),
    deliveries: total(list.map(({ deliveries }) => deliveries)),
    missing: total(list.map(({ missing }) => missing)),
    doubled: total(list.map(({ doubled }) => doubled)),
    disordered: total(list.map(({ disordered }) => disordered)),
    lateMs: Math.max(...list.map(({ lateMs }) => lateMs)),
    clientUs: means(list.map(({ client }) => client), ['cpuUs']).cpuUs,
    clientBusy: Math.max(...list.map(({ client }) => client.busy)),
    others: Math.max(...list.map(({ others }) => others)),
    roles: meanRoles(list)
  }
}

/**
 * @param {{ count: number, delivered: Delivered }[]} points of all rounds
 * @returns {{ count: number, line: DeliveryLine }[]}
 */
function byCount (points) {
  return [...new Set(points.map(({ count }) => count))].map((count) => ({
    count,
    line: deliveryLine(points.filter((point) => point.count === count).map(({ delivered }) => delivered))
  }))
}

/** @param {import('./phases.js').Connected[]} list @returns {ConnectLine} */
function connectLine (list) {
  /** @type {Record<string, number>} */
  const failures = {}
  for (const each of list)
    for (const [reason, count] of Object.entries(each.failures)) failures[reason] = (failures[reason] ?? 0) + count
  return {
    ...means(list, ['cpuUs', 'systemUs', 'redisUs', 'kafkaUs', 'residentKb']),
    ...worst(list),
    attempted: total(list.map(({ attempted }) => attempted)),
    failed: total(list.map(({ attempted, ok }) => attempted - ok)),
    failures
  }
}

/**
 * @template {string} K
 * @param {Record<K, number>[]} list
 * @param {K[]} names
 * @returns {Record<K, number>}
 */
function means (list, names) {
  return /** @type {Record<K, number>} */ (
    Object.fromEntries(names.map((name) => [name, round(total(list.map((each) => each[name])) / list.length, 2)]))
  )
}

/** @param {{ roles: Record<string, number> }[]} list */
const meanRoles = (list) => means(list.map(({ roles }) => roles), Object.keys(list[0].roles))

/** @param {{ latency: import('../measure/quantiles.js').Quantiles }[]} list @returns {Quality} */
function worst (list) {
  const of = (/** @type {'p50' | 'p99' | 'max'} */ name) => Math.max(...list.map(({ latency }) => latency[name] ?? NaN))
  return { p50: of('p50'), p99: of('p99'), max: of('max') }
}

/** @param {number[]} values */
const total = (values) => values.reduce((sum, value) => sum + value, 0)
