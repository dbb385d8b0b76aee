/**
 * The search for a smaller world that breaks the same promise.
 *
 * @typedef {import('./options.js').Without} Without
 * @typedef {import('./seed-process.js').SeedResult} SeedResult
 */

/** Runs of the seed in one search. */
const MAX_RUNS = 150
/** Numbers of clients, documents and records that are tried, from the smallest. */
const FEW = [1, 2, 3, 5, 10, 20, 50]
const FEWER = /** @type {const} */ (['clients', 'documents', 'records'])
/** Virtual time that a shorter world goes on after the first violation, ms: some promises are checked at its end. */
const AFTER = [0, 1000, 5000]
/** Shares of the duration that are tried. */
const SHARES = [0.125, 0.25, 0.5, 0.75]

/**
 * @param {string} violation
 * @returns {string} the sentence without its time, numbers and ids: the same for the same broken promise
 */
export const kindOf = (violation) => violation.split('\n')[0]
  .replace(/^[\d.]+ ms: /, '')
  .replaceAll(/\b(?=[\da-f-]*\d)[\da-f-]{8,}\b/g, '#')
  .replaceAll(/\d+(?:\.\d+)?/g, '#')

/** @param {string} violation @returns {number | undefined} its virtual time, ms */
const timeOf = (violation) => {
  const time = /^([\d.]+) ms: /.exec(violation)?.[1]
  return time === undefined ? undefined : Number(time)
}

/**
 * @param {object} options
 * @param {SeedResult} options.failed of the seed with `without`
 * @param {Without} [options.without] what is left out from the beginning
 * @param {(without: Without) => Promise<SeedResult>} options.run
 * @param {(without: Without) => void} [options.onSmaller] a smaller world was found
 * @param {() => boolean} [options.isOver] asked before each run
 * @returns {Promise<{ without: Without, result: SeedResult, runs: number }>} result: of the smallest world that was
 *   found
 */
export async function shrink ({ failed, without: first = {}, run, onSmaller = () => {}, isOver = () => false }) {
  const kinds = new Set(failed.violations.map(kindOf))
  let without = first
  let result = failed
  let runs = 0
  const goesOn = () => runs < MAX_RUNS && !isOver()
  /** @param {Without} more @returns {Promise<boolean>} whether the promise is broken with that as well */
  const fails = async (more) => {
    if (!goesOn()) return false
    runs++
    const smaller = { ...without, ...more }
    const outcome = await run(smaller)
    if (!outcome.violations.some((violation) => kinds.has(kindOf(violation)))) return false
    without = smaller
    result = outcome
    onSmaller(without)
    return true
  }

  const faults = failed.plan.flatMap((line) => /^\d+/.exec(line) ?? []).map(Number)
  let needed = faults
  const fewerFaults = async () => {
    needed = await minimal(needed, (kept) =>
      fails({ faults: [...first.faults ?? [], ...faults.filter((i) => !kept.includes(i))] }))
  }
  const shorter = async () => {
    const times = result.violations.filter((violation) => kinds.has(kindOf(violation))).map(timeOf)
    const end = Math.min(...times.map((time) => time ?? Infinity))
    const now = without.duration ?? result.seconds * 1000
    const durations = [...AFTER.map((after) => end + after), ...SHARES.map((share) => share * now)].map(Math.ceil)
    for (const duration of durations.sort((a, b) => a - b)) if (duration < now && await fails({ duration })) return
  }
  await shorter()
  await fewerFaults()
  for (const name of FEWER) {
    for (const count of FEW) if (count < (without[name] ?? Infinity) && await fails({ [name]: count })) break
  }
  await fewerFaults()
  await shorter()
  return { without, result, runs }
}

/**
 * Delta debugging (Zeller): parts of ever finer size are left out as long as the rest fails.
 *
 * @template T
 * @param {T[]} all
 * @param {(kept: T[]) => Promise<boolean>} fails
 * @returns {Promise<T[]>} of which no single one can be left out
 */
export async function minimal (all, fails) {
  if (all.length === 0 || await fails([])) return []
  let kept = all
  for (let parts = 2; kept.length > 1;) {
    const size = Math.ceil(kept.length / parts)
    const candidates = Array.from({ length: Math.ceil(kept.length / size) }, (_, i) => kept.toSpliced(i * size, size))
    let smaller
    for (const candidate of candidates) {
      if (await fails(candidate)) {
        smaller = candidate
        break
      }
    }
    if (smaller !== undefined) {
      kept = smaller
      parts = Math.max(2, parts - 1)
    } else if (size === 1) return kept
    else parts = Math.min(kept.length, 2 * parts)
  }
  return kept
}
