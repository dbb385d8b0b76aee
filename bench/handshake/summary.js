/**
 * Aggregates rounds to one line per phase and system, and computes the ratios between the systems.
 */

/**
 * @typedef {import('./round.js').RoundResult} RoundResult
 *
 * @typedef {object} Line
 * @property {string} phase
 * @property {string} system
 * @property {number} attempted
 * @property {number} failed
 * @property {Record<string, number>} failures by reason
 * @property {number} cpuUs mean of the rounds, like all figures but latency
 * @property {number} systemUs
 * @property {number} redisUs
 * @property {number} p50 ms, worst round
 * @property {number} p99 ms, worst round
 * @property {number} max ms, worst round
 * @property {string} spread connections per worker, of the most uneven round
 * @property {number} clientUs
 * @property {number} clientBusy highest of the rounds
 *
 * @typedef {object} Ratio inkcast / another system
 * @property {string} phase
 * @property {string} against the other system
 * @property {number} cpu
 * @property {number} cpuWithRedis
 *
 * @typedef {object} Memory
 * @property {string} system
 * @property {number} residentKb per connection, mean of the rounds
 * @property {number} lost connections
 *
 * @typedef {{ lines: Line[], ratios: Ratio[], memory: Memory[] }} Summary
 */

/**
 * @param {RoundResult[]} rounds
 * @returns {Summary}
 */
export function summarize (rounds) {
  const systems = [...new Set(rounds.map(({ system }) => system))]
  const phases = [...new Set(rounds.flatMap((round) => round.phases.map(({ phase }) => phase)))]
  /** @param {string} phase */
  const systemsOf = (phase) => systems.filter((system) =>
    rounds.some((round) => round.system === system && round.phases.some((each) => each.phase === phase)))
  const lines = phases.flatMap((phase) => systemsOf(phase).map((system) => line(phase, system, rounds)))
  const others = systems.includes('inkcast') ? systems.filter((system) => system !== 'inkcast') : []
  const ratios = phases.flatMap((phase) =>
    systemsOf(phase).filter((system) => others.includes(system)).map((other) => ratio(phase, other, lines)))
  const memory = systems.map((system) => {
    const own = rounds.filter((round) => round.system === system)
    return {
      system,
      residentKb: Math.round(mean(own.map(({ residentKb }) => residentKb)) * 10) / 10,
      lost: own.reduce((sum, { lost }) => sum + Object.values(lost).reduce((a, b) => a + b, 0), 0)
    }
  })
  return { lines, ratios, memory }
}

/**
 * @param {string} phase
 * @param {string} system
 * @param {RoundResult[]} rounds
 * @returns {Line}
 */
function line (phase, system, rounds) {
  const results = rounds
    .filter((round) => round.system === system)
    .flatMap(({ phases }) => phases.filter((each) => each.phase === phase))
  /** @type {Record<string, number>} */
  const failures = {}
  for (const result of results)
    for (const [reason, count] of Object.entries(result.failures)) failures[reason] = (failures[reason] ?? 0) + count
  const worst = (/** @type {'p50' | 'p99' | 'max'} */ quantile) =>
    Math.max(...results.map(({ latency }) => latency[quantile] ?? 0))
  const unevenness = (/** @type {number[]} */ spread) => Math.max(...spread) - Math.min(...spread)
  return {
    phase,
    system,
    attempted: results.reduce((sum, { attempted }) => sum + attempted, 0),
    failed: results.reduce((sum, { attempted, ok }) => sum + attempted - ok, 0),
    failures,
    cpuUs: Math.round(mean(results.map(({ cpuUs }) => cpuUs))),
    systemUs: Math.round(mean(results.map(({ systemUs }) => systemUs))),
    redisUs: Math.round(mean(results.map(({ redisUs }) => redisUs))),
    p50: worst('p50'),
    p99: worst('p99'),
    max: worst('max'),
    spread: results.map(({ spread }) => spread).sort((a, b) => unevenness(b) - unevenness(a))[0].join('/'),
    clientUs: Math.round(mean(results.map(({ client }) => client.cpuUs))),
    clientBusy: Math.max(...results.map(({ client }) => client.busy))
  }
}

/** @param {string} phase @param {string} against @param {Line[]} lines @returns {Ratio} */
function ratio (phase, against, lines) {
  const of = (/** @type {string} */ system) =>
    /** @type {Line} */ (lines.find((each) => each.phase === phase && each.system === system))
  const [inkcast, other] = [of('inkcast'), of(against)]
  return {
    phase,
    against,
    cpu: round(inkcast.cpuUs / other.cpuUs),
    cpuWithRedis: round((inkcast.cpuUs + inkcast.redisUs) / (other.cpuUs + other.redisUs))
  }
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100
