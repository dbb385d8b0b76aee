import v8 from 'node:v8'
import vm from 'node:vm'

/**
 * Returns memory to the system when a process rests: after its start, and after a time of load. V8 does this by itself
 * only under memory pressure, and shrinks its young generation (16 MB in a gateway worker, 32 in other processes) only
 * in a collection that follows some seconds of rest.
 *
 * Not at the end of the start: a collection discards code that the warm-up has made V8 optimize (decision 0005), and
 * the first clients come right then.
 *
 * Why and figures: docs/internals/decisions/0040-memory.md
 */

/** Time over which the CPU is measured, ms: longer than the 5 s over which V8 measures how much is allocated. */
const WINDOW = 6000
/**
 * A process rests below this share of a core. A collection stops it for some 30 ms without connections, and longer with
 * some thousand idle ones, which is the most that stays below this share. A process without clients may do more at
 * rest: ingest asks Kafka all the time.
 */
export const REST = Object.freeze({ withClients: 0.02, without: 0.05 })
/** Only this much ends the rest, so that a process between the two does not collect again and again. */
const WORK = 0.1
/** The first collection shows V8 how little is allocated, the second one shrinks. */
const COLLECTIONS = 2
/** V8 shrinks below 1 MB of allocations per second, which ingest may miss while it joins its group: then it repeats. */
const MOST = 5
/** Size of a young generation that has not shrunk, bytes: V8 shrinks it to 1 MB. */
const GROWN = 4 * 2 ** 20

/**
 * @param {object} dependencies
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {number} [dependencies.rest] share of a core
 * @param {() => void} [dependencies.collect]
 * @param {() => boolean} [dependencies.isGrown] whether the young generation has not shrunk
 */
export function createMemoryAtRest ({
  clock, rest = REST.withClients, collect = collectGarbage, isGrown = hasGrown
}) {
  /** @type {import('../common/clock.js').Timer | undefined} */
  let timer
  let last = { at: 0, cpuMs: 0 }
  let collections = 0

  const read = () => ({ at: clock.monotonic(), cpuMs: clock.cpu() })

  function look () {
    const now = read()
    const share = (now.cpuMs - last.cpuMs) / Math.max(1, now.at - last.at)
    last = now
    if (share >= WORK) collections = 0
    else if (share < rest && (collections < COLLECTIONS || (collections < MOST && isGrown()))) {
      collections++
      collect()
      // the collection itself is no work
      last = read()
    }
  }

  return {
    start () {
      last = read()
      timer = clock.every(WINDOW, look).unref()
    },
    stop () { timer?.stop() }
  }
}

const hasGrown = () =>
  v8.getHeapSpaceStatistics().some((space) => space.space_name === 'new_space' && space.space_size >= GROWN)

/** A collection that moves what is left together: 2 to 4 MB of a process are free places between objects. */
function collectGarbage () {
  v8.setFlagsFromString('--expose-gc')
  v8.setFlagsFromString('--compact-on-every-full-gc')
  vm.runInNewContext('gc')()
  v8.setFlagsFromString('--no-compact-on-every-full-gc')
  v8.setFlagsFromString('--no-expose-gc')
}
