import { isTraced, readUsage } from '../../base/process/usage.js'
import { Silence } from './silence.js'

/** Default interval between two looks, ms. */
const INTERVAL = 500
/** Silence after which a process counts as hung, ms: above the longest pauses for garbage collection. */
const SUSPECT = 1500
/** Silence after which a process is killed, ms: then other workers end its sessions, because its lease expires. */
const KILL_AFTER = 10_000
/**
 * A look counts this many intervals at most: when it is later, this process was asleep or busy itself. A little more
 * than one, because timers are a little late or early.
 */
const LONGEST_STEP = 1.1
/** Maximum time that a kill waits for the replacement of another one, ms. */
const REPLACEMENT = 30_000
/**
 * CPU time in which a process would have answered if it could, ms: before it counts as hung, and before it is killed.
 * With less, the time that it waited for a CPU does not count.
 */
const [ENOUGH_CPU, ENOUGH_CPU_TO_KILL] = [250, 2000]

/**
 * How the system is asked about a process.
 * @typedef {{ usageOf: typeof readUsage, traced: typeof isTraced }} Look
 *
 * A process to watch; the same object as long as it runs.
 * @typedef {object} Watched
 * @property {string} name
 * @property {string} role
 * @property {number} pid
 * @property {boolean} hung set here
 * @property {() => void} ask asks it for an answer; called again only when it has answered
 * @property {() => void} kill
 */

/** @type {Look} */
export const systemLook = { usageOf: readUsage, traced: isTraced }

/**
 * Notices processes that hang: stopped by a signal, in an endless loop, or stuck in a system call. Each process is
 * asked, and answers at once. After SUSPECT without an answer it counts as hung, which costs little if it is wrong:
 * others take its new connections until it answers. Only after KILL_AFTER is it killed.
 *
 * Silence counts only while the process could have answered. It does not count while this process was asleep or late
 * itself (a suspended or frozen machine), nor while the other one was ready to run and got no CPU (an overloaded one),
 * unless it got enough CPU for an answer and gave none (an endless loop on an overloaded machine).
 * A process with a debugger is not killed. While the replacement of a killed one is not ready, no other one is killed:
 * if all of them hang at once, the cause is the machine.
 * Why: docs/internals/decisions/0004-accept-and-hang.md
 */
export class HangWatch {
  /** Processes that were asked and have not answered. @type {Map<Watched, Silence>} */
  #silences = new Map()
  /** Processes whose inspector is open. @type {WeakSet<Watched>} */
  #inspected = new WeakSet()
  /** The last one that was killed. */
  #killed = { name: '', at: -Infinity }
  /** When it looked, monotonic ms. */
  #last
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** @type {ReturnType<import('../../base/common/clock.js').Clock['soon']> | undefined} */
  #judging

  /**
   * @param {object} dependencies
   * @param {() => Watched[]} dependencies.processes all that should answer now
   * @param {(name: string) => boolean} dependencies.isReady whether the process of this name, or its successor, is
   *   ready
   * @param {() => void} [dependencies.onChange] called when `hung` of a process has changed
   * @param {number} [dependencies.interval] ms
   * @param {Look} [dependencies.host]
   * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon'>} dependencies.clock
   */
  constructor ({
    processes, isReady, onChange = () => {}, interval = INTERVAL, host = systemLook, metrics, log, clock
  }) {
    this.processes = processes
    this.isReady = isReady
    this.onChange = onChange
    this.interval = interval
    this.host = host
    this.metrics = metrics
    this.log = log
    this.clock = clock
    this.#last = clock.monotonic()
    metrics.onCollect(() => {
      metrics.hung_workers.reset()
      for (const { role } of processes()) metrics.hung_workers.inc({ role }, 0)
      for (const { role, hung } of this.#silences.keys()) if (hung) metrics.hung_workers.inc({ role })
    })
  }

  start () { this.#timer = this.clock.every(this.interval, () => this.#look()) }

  stop () {
    this.#timer?.stop()
    this.#judging?.stop()
  }

  /**
   * Call it when a process has answered.
   * @param {Watched} process
   * @param {boolean} [isInspected] its inspector is open: a debugger may have paused it
   */
  answered (process, isInspected = false) {
    const { name, pid } = process
    if (isInspected && !this.#inspected.has(process))
      this.log.info({ process: name, processId: pid }, 'inspector is open: it is not killed if it hangs')
    if (isInspected) this.#inspected.add(process)
    else this.#inspected.delete(process)
    const silence = this.#silences.get(process)
    this.#silences.delete(process)
    if (!process.hung) return
    process.hung = false
    this.log.info({ process: name, silentMs: Math.round(silence?.ms ?? 0) }, 'process answers again')
    this.onChange()
  }

  #look () {
    const now = this.clock.monotonic()
    const step = Math.min(now - this.#last, LONGEST_STEP * this.interval)
    this.#last = now
    // answers that came while this process was busy are read first
    this.#judging = this.clock.soon(() => this.#judgeAll(step))
  }

  /** @param {number} step ms since the last look that count */
  #judgeAll (step) {
    const watched = new Set(this.processes())
    // it has ended, or is stopping
    for (const process of this.#silences.keys()) if (!watched.has(process)) this.#silences.delete(process)
    for (const process of watched) {
      const silence = this.#silences.get(process)
      const usage = this.host.usageOf(process.pid)
      if (silence === undefined) {
        this.#silences.set(process, new Silence(usage))
        process.ask()
      } else {
        silence.add(step, usage)
        this.#judge(process, silence)
      }
    }
  }

  /** @param {Watched} process @param {Silence} silence */
  #judge (process, silence) {
    if (silence.counted(ENOUGH_CPU) >= SUSPECT && !process.hung) {
      process.hung = true
      this.metrics.worker_hangs.inc({ role: process.role })
      this.log.warn(
        silence.fields(process), `process does not answer, ${silence.cause}: other workers take its new connections`
      )
      this.onChange()
    }
    if (silence.counted(ENOUGH_CPU_TO_KILL) >= KILL_AFTER && !silence.killed) this.#end(process, silence)
  }

  /** @param {Watched} process @param {Silence} silence */
  #end (process, silence) {
    const debugged = this.#inspected.has(process) || this.host.traced(process.pid)
    const now = this.clock.monotonic()
    const replacing = now - this.#killed.at < REPLACEMENT && !this.isReady(this.#killed.name)
    if (debugged || replacing) {
      if (!silence.spared)
        this.log.warn(
          silence.fields(process),
          debugged
            ? 'process does not answer and has a debugger: it is not killed'
            : 'process does not answer, nor does another one: it is killed when the other is replaced'
        )
      silence.spared = true
      return
    }
    silence.killed = true
    this.#killed = { name: process.name, at: now }
    this.metrics.hung_workers_killed.inc({ role: process.role })
    this.log.error(
      silence.fields(process),
      `process is killed because it did not answer within 10 s, ${silence.cause}; its clients reconnect to other workers and resume`
    )
    process.kill()
  }
}
