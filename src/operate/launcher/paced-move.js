/**
 * A reload moves the clients of a worker to its successor before the worker is stopped, as fast as they arrive there. A
 * worker that is stopped has to send its clients away within DRAIN_TIMEOUT: on a busy machine they would queue at the
 * successor for a long time.
 */

/** Interval of decisions, ms. */
const TICK = 500
/** As many clients may be on their way as arrived in this time, ms. On a busy machine, a client waits this long. */
const WINDOW = 3000
/** A client that is on its way for this long has gone for good, or to another machine, ms. */
const GONE = 10_000
/** Lowest rate, clients per second. So few clients need no pace: the drain that follows moves them. */
const LEAST = 100
/** Longest time for all clients, ms: the lowest rate is higher if needed. */
const LONGEST = 120_000
/** The move ends when fewer clients are left: the drain that follows moves them. */
const REST = 50
/** The move also ends if no client leaves or arrives for this time, ms: the worker hangs, or is an earlier version. */
const STALLED = 5000
/** Share of the clients that may be on their way at the end. */
const FEW = 0.05

/**
 * @typedef {Pick<import('./child.js').Child, 'connections' | 'exited' | 'ask' | 'send'>} Worker
 *
 * @typedef {{ at: number, left: number, arrived: number }} Count so far; at: monotonic ms
 */

/**
 * @param {object} options
 * @param {Worker} options.from accepts no connections
 * @param {Worker} options.to accepts all of them
 * @param {() => boolean} options.stopped ends it within half a second
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'sleep'>} options.clock
 * @returns {Promise<number>} clients that have left; resolves when most have arrived, or as described above
 */
export async function moveClients ({ from, to, stopped, clock }) {
  const all = from.connections ?? 0
  if (all <= LEAST) return 0
  const before = to.connections ?? 0
  const least = Math.max(LEAST, all / (LONGEST / 1000))
  /** @type {Count[]} */
  const counts = [{ at: clock.monotonic(), left: 0, arrived: 0 }]
  let lastProgress = clock.monotonic()

  for (;;) {
    const [now, then, gone] = [counts[counts.length - 1], since(counts, WINDOW), since(counts, GONE)]
    const arrived = now.arrived - then.arrived
    const onTheirWay = Math.max(0, now.left - gone.left - (now.arrived - gone.arrived))
    const left = all - now.left
    if (left <= REST && onTheirWay <= FEW * all) return now.left
    if (left > 0) from.send({ type: 'move', rate: Math.max(least, Math.max(LEAST, arrived) - onTheirWay) })
    from.ask()
    await clock.sleep(TICK)
    if (stopped() || from.exited || to.exited) return now.left
    const next = {
      at: clock.monotonic(),
      left: Math.max(now.left, all - (from.connections ?? 0)),
      arrived: Math.max(now.arrived, (to.connections ?? 0) - before)
    }
    if (next.left > now.left || next.arrived > now.arrived) lastProgress = next.at
    else if (next.at - lastProgress >= STALLED) return next.left
    counts.push(next)
    if (counts[1].at <= next.at - GONE) counts.shift()
  }
}

/** @param {Count[]} counts @param {number} ms @returns {Count} the one of that many ms ago, or the first one */
function since (counts, ms) {
  const now = counts[counts.length - 1].at
  return counts.findLast(({ at }) => at <= now - ms) ?? counts[0]
}
