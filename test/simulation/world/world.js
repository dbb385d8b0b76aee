import { Checks } from './checks.js'
import { Heap } from './heap.js'
import { Network } from './network.js'
import { enterWorld } from './now.js'
import { SeededRandom } from './random.js'
import { real } from './real.js'
import { SimProcess } from './sim-process.js'
import { Trace } from './trace.js'

/** Time of day at which each world begins, ms since 1970. */
const BEGIN = 1_790_000_000_000
/** Turns at one moment: more are a loop that never waits. */
const MAX_TURNS_AT_ONCE = 200_000
/** Immediates asked for at once: Node empties its queues after each, and looks for other events after all of them. */
const AHEAD = 50

/**
 * Processes, their network and their time, in one process of Node: one turn after the other, in an order that the seed
 * decides. A turn is all that one process does until it waits: it begins with one event (a timer, bytes, a start), and
 * ends when no promise and no `nextTick` is left. Each turn is an immediate of its own, so Node itself sees to that.
 */
export class World {
  /** Virtual time, ms. */
  time = 0
  turns = 0
  /** Whose turn it is; null: the world's own. @type {SimProcess | null} */
  current = null
  /** @type {Set<SimProcess>} */
  processes = new Set()
  /** Broken promises and rules, as sentences. @type {string[]} */
  violations = []
  /** Parts of error lines that faults bring. @type {Set<string>} */
  expected = new Set()
  #heap = new Heap()
  #events = 0
  #atOnce = 0
  #pid = 100
  /** Called at the end of each turn. @type {((process: SimProcess | null) => void)[]} */
  #onTurnEnd = []

  /** @type {Checks | undefined} */
  #checks

  /**
   * @param {number} seed
   * @param {object} [options]
   * @param {boolean} [options.lines] the trace keeps each turn, not only its hash
   * @param {boolean} [options.checked] looks at what runs beside the world or in the turn of another process; slower
   */
  constructor (seed, { lines = false, checked = false } = {}) {
    this.seed = seed
    this.random = new SeededRandom(seed)
    this.trace = new Trace(lines)
    this.network = new Network(this)
    if (checked) this.#checks = new Checks(this)
  }

  /** Time of day by a clock that is never set, ms since 1970. */
  get wall () { return BEGIN + this.time }

  /** @param {string} name @param {import('./sim-process.js').Machine} machine @returns {SimProcess} */
  process (name, machine) {
    const process = new SimProcess(this, { name, machine, pid: ++this.#pid })
    this.processes.add(process)
    this.trace.started(this.time, process)
    return process
  }

  /**
   * @param {number} delay ms
   * @param {string} kind for the trace
   * @param {() => void} run
   * @param {SimProcess | null} [owner] whose turn it will be; it never comes if that process has ended by then
   * @param {() => void} [lost] runs instead in that case, as the world's own
   * @returns {import('./heap.js').Event} `canceled` may be set
   */
  schedule (delay, kind, run, owner = this.current, lost) {
    const event = { at: this.time + delay, number: this.#events++, owner, kind, run, canceled: false, lost }
    this.#heap.push(event)
    return event
  }

  /** @param {string} sentence */
  violation (sentence) {
    if (this.violations.length < 50) this.violations.push(`${this.time.toFixed(1)} ms: ${sentence}`)
    this.trace.violation(this.time, sentence, this.current)
  }

  /** @param {(process: SimProcess | null) => void} run */
  onTurnEnd (run) { this.#onTurnEnd.push(run) }

  /** Runs in progress: a test may publish beside what it waits for. */
  #runs = 0

  /**
   * @param {number} until virtual time, ms
   * @param {() => boolean} [isOver] asked after each turn; true: earlier than that
   * @returns {Promise<void>}
   */
  run (until, isOver = () => false) {
    const failed = (/** @type {unknown} */ error) => this.#failed(error)
    process.on('uncaughtException', failed).on('unhandledRejection', failed)
    if (this.#runs++ === 0) {
      enterWorld(this)
      this.#checks?.begin()
    }
    return new Promise((resolve) => {
      let ended = false
      let ahead = 0
      const turn = () => {
        if (ended) return
        this.#endTurn()
        if (!isOver() && this.#begin(until)) {
          if (--ahead === 0) ahead = this.#next(turn)
          return
        }
        ended = true
        if (--this.#runs === 0) {
          this.#checks?.end()
          enterWorld(undefined)
        }
        process.off('uncaughtException', failed).off('unhandledRejection', failed)
        resolve()
      }
      ahead = this.#next(turn)
    })
  }

  /** Asks for the next turns. @param {() => void} turn @returns {number} how many */
  #next (turn) {
    const checks = this.#checks
    if (checks !== undefined) checks.isOwn = true
    for (let i = 0; i < AHEAD; i++) real.setImmediate(turn)
    if (checks !== undefined) checks.isOwn = false
    return AHEAD
  }

  #endTurn () {
    const ended = this.current
    for (const run of this.#onTurnEnd) run(ended)
    this.network.flush()
    this.current = null
    ended?.turnEnded()
  }

  /** @param {number} until @returns {boolean} false: nothing is left until then */
  #begin (until) {
    for (;;) {
      const next = this.#heap.peek()
      if (next === undefined || next.at > until) {
        this.time = Math.max(this.time, until)
        return false
      }
      this.#heap.pop()
      if (next.at > this.time) {
        this.time = next.at
        this.#atOnce = 0
      } else if (++this.#atOnce > MAX_TURNS_AT_ONCE) {
        this.violation(`a loop that never waits: ${next.owner?.name} ${next.kind}`)
        return false
      }
      if (next.canceled) continue
      const { owner } = next
      if (owner !== null && !owner.mayRun(next)) {
        if (!owner.isAlive) next.lost?.()
        continue
      }
      this.current = owner
      this.turns++
      this.trace.turn(this.time, owner, next.kind)
      try {
        next.run()
      } catch (error) {
        this.#failed(error)
      }
      return true
    }
  }

  /** @param {import('./heap.js').Event} event of a process that could not run it when it was due */
  again (event) {
    // the same object: its owner may still cancel it
    event.at = this.time
    event.number = this.#events++
    this.#heap.push(event)
  }

  /** @param {unknown} error that nobody has caught */
  #failed (error) {
    const text = error instanceof Error ? `${error.stack}` : String(error)
    this.violation(`${this.current?.name ?? 'the world'}: an exception that nothing catches: ${text}`)
  }
}
