import { isTraced, readUsage } from '../../base/process/usage.js'

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
 * Why: docs/decisions/0004-accept-and-hang.md
 */

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
/** Part of the silence that a process must have used a CPU for, to say that it computes. */
const COMPUTES = 0.5

/**
 * A process to watch; the same object as long as it runs.
 * @typedef {object} Watched
 * @property {string} name
 * @property {string} role
 * @property {number} pid
 * @property {boolean} hung set here
 * @property {() => void} ask asks it for an answer; called again only when it has answered
 * @property {() => void} kill
 */

/** @typedef {object} Silence of a process that was asked
 * @property {number} ms
 * @property {number} queuedMs part of it in which it was ready to run and had no CPU
 * @property {import('../../base/process/usage.js').Usage} since usage when it was asked
 * @property {import('../../base/process/usage.js').Usage} last usage at the last look
 * @property {boolean} killed
 * @property {boolean} spared the log has said why it is not killed
 */

/**
 * @param {object} dependencies
 * @param {() => Watched[]} dependencies.processes all that should answer now
 * @param {(name: string) => boolean} dependencies.isReady whether the process of this name, or its successor, is ready
 * @param {() => void} [dependencies.onChange] called when `hung` of a process has changed
 * @param {number} [dependencies.interval] ms
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon'>} dependencies.clock
 * @param {typeof readUsage} [dependencies.usageOf]
 * @param {typeof isTraced} [dependencies.traced]
 */
export function createHangWatch ({
  processes, isReady, onChange = () => {}, interval = INTERVAL, metrics, log, clock,
  usageOf = readUsage, traced = isTraced
}) {
  /** Processes that were asked and have not answered. @type {Map<Watched, Silence>} */
  const silences = new Map()
  /** Processes whose inspector is open. @type {WeakSet<Watched>} */
  const inspected = new WeakSet()
  /** The last one that was killed. */
  let killed = { name: '', at: -Infinity }
  let last = clock.monotonic()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  /** @type {ReturnType<typeof clock.soon> | undefined} */
  let judging

  metrics.onCollect(() => {
    metrics.hung_workers.reset()
    for (const { role } of processes()) metrics.hung_workers.inc({ role }, 0)
    for (const { role, hung } of silences.keys()) if (hung) metrics.hung_workers.inc({ role })
  })

  function look () {
    const now = clock.monotonic()
    const step = Math.min(now - last, LONGEST_STEP * interval)
    last = now
    // answers that came while this process was busy are read first
    judging = clock.soon(() => judgeAll(step))
  }

  /** @param {number} step ms since the last look that count */
  function judgeAll (step) {
    const watched = new Set(processes())
    // it has ended, or is stopping
    for (const process of silences.keys()) if (!watched.has(process)) silences.delete(process)
    for (const process of watched) {
      const silence = silences.get(process)
      if (silence === undefined) {
        const since = usageOf(process.pid)
        silences.set(process, { ms: 0, queuedMs: 0, since, last: since, killed: false, spared: false })
        process.ask()
      } else judge(process, silence, step)
    }
  }

  /** @param {Watched} process @param {Silence} silence @param {number} step */
  function judge (process, silence, step) {
    const usage = usageOf(process.pid)
    silence.ms += step
    silence.queuedMs += Math.max(0, Math.min(step, usage.queuedMs - silence.last.queuedMs))
    silence.last = usage
    const usedMs = usage.cpuMs - silence.since.cpuMs
    /** @param {number} enough CPU time, ms */
    const counted = (enough) => usedMs >= enough ? silence.ms : silence.ms - silence.queuedMs
    if (counted(ENOUGH_CPU) >= SUSPECT && !process.hung) {
      process.hung = true
      metrics.worker_hangs.inc({ role: process.role })
      log.warn(
        fields(process, silence, usage),
        `process does not answer, ${causeOf(silence, usage)}: other workers take its new connections`
      )
      onChange()
    }
    if (counted(ENOUGH_CPU_TO_KILL) >= KILL_AFTER && !silence.killed) end(process, silence, usage)
  }

  /** @param {Watched} process @param {Silence} silence @param {import('../../base/process/usage.js').Usage} usage */
  function end (process, silence, usage) {
    const debugged = inspected.has(process) || traced(process.pid)
    const replacing = clock.monotonic() - killed.at < REPLACEMENT && !isReady(killed.name)
    if (debugged || replacing) {
      if (!silence.spared)
        log.warn(
          fields(process, silence, usage),
          debugged
            ? 'process does not answer and has a debugger: it is not killed'
            : 'process does not answer, nor does another one: it is killed when the other is replaced'
        )
      silence.spared = true
      return
    }
    silence.killed = true
    killed = { name: process.name, at: clock.monotonic() }
    metrics.hung_workers_killed.inc({ role: process.role })
    log.error(
      fields(process, silence, usage),
      `process is killed because it did not answer within 10 s, ${causeOf(silence, usage)}; its clients reconnect to other workers and resume`
    )
    process.kill()
  }

  return {
    start () { timer = clock.every(interval, look) },
    stop () {
      timer?.stop()
      judging?.stop()
    },

    /**
     * Call it when a process has answered.
     * @param {Watched} process
     * @param {boolean} [isInspected] its inspector is open: a debugger may have paused it
     */
    answered (process, isInspected = false) {
      if (isInspected && !inspected.has(process))
        log.info({ process: process.name, processId: process.pid }, 'inspector is open: it is not killed if it hangs')
      if (isInspected) inspected.add(process)
      else inspected.delete(process)
      const silence = silences.get(process)
      silences.delete(process)
      if (!process.hung) return
      process.hung = false
      log.info({ process: process.name, silentMs: Math.round(silence?.ms ?? 0) }, 'process answers again')
      onChange()
    }
  }
}

/** @param {Watched} process @param {Silence} silence @param {import('../../base/process/usage.js').Usage} usage */
const fields = ({ name, pid }, { ms, queuedMs, since }, { state, cpuMs }) => ({
  process: name,
  processId: pid,
  silentMs: Math.round(ms),
  queuedMs: Math.round(queuedMs),
  cpuMs: cpuMs - since.cpuMs,
  state
})

/** @param {Silence} silence @param {import('../../base/process/usage.js').Usage} usage @returns {string} */
function causeOf ({ ms, queuedMs, since }, { state, cpuMs }) {
  if (state === 'T' || state === 't') return 'it was stopped by a signal'
  if (state === 'D') return 'it waits for a disk or for swapped memory'
  if (cpuMs - since.cpuMs >= COMPUTES * (ms - queuedMs))
    return 'it computes without a pause (an endless loop, or an extension that blocks)'
  return 'it is blocked in a system call'
}
