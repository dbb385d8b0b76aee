/**
 * Preloaded into each test file. Node waits for a file until nothing keeps its process alive: one open handle would
 * cost the whole ring its time limit, and no line would name the handle. A process that is still there
 * five minutes after its last test says what keeps it alive, and fails. (No hook takes that long.) A process that ends
 * during a test fails as well: the tests behind it would be missing.
 *
 * The time counts in beats, each with a turn of the event loop of its own: a process that only gets no CPU time, and
 * would end or begin its next test in the next turns, is not taken for one that stays alive.
 */
import { isMainThread } from 'node:worker_threads'

// those of Node, also while a test replaces them
const { setTimeout, clearTimeout } = globalThis

/** Name of a test: the process may be that of several files. */
let last = ''

/** Time without a running test after which the process ends, ms. */
const PATIENCE = Number(process.env.TEST_END_PATIENCE ?? 300_000)
const BEATS = 30

// threads and forks of a test file are no test files
if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined && /\.test\.m?js$/.test(process.argv[1] ?? '')) {
  const { afterEach, beforeEach } = await import('node:test')
  const running = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const beat = (left = BEATS) => {
    if (left === 0) end()
    else timer = setTimeout(beat, PATIENCE / BEATS, left - 1).unref()
  }
  const ended = (/** @type {object} */ context) => { if (running.delete(context) && running.size === 0) beat() }
  beforeEach((/** @type {any} */ context) => {
    running.add(context)
    last = context.name
    clearTimeout(timer)
    const { skip } = context
    // no hook follows
    context.skip = (/** @type {[string?]} */ ...message) => {
      ended(context)
      skip.apply(context, message)
    }
  })
  afterEach(ended)
  process.on('exit', () => {
    if (running.size === 0) return
    console.error(`the process ends in the test "${last}"`)
    process.exitCode = 1
  })
}

function end () {
  // private, but only Node knows the other ends of open sockets
  const handles = /** @type {{ _getActiveHandles?: () => any[] }} */ (/** @type {unknown} */ (process))
    ._getActiveHandles?.()
    .map((handle) => [handle.constructor.name, handle.spawnfile ?? handle.remotePort ?? ''].join(' ').trim())
  console.error(
    `${process.argv[1]}: ${PATIENCE / 1000} s after its last test, "${last}", this keeps the process alive:`,
    { resources: process.getActiveResourcesInfo(), handles }
  )
  // also because a suite may not have begun: Node would not report it as missing
  process.exit(1)
}
