import { Backoff } from '../../base/common/backoff.js'
import { Child } from './child.js'

/** A process that has run this long was no part of a crash loop, ms. */
const HEALTHY = 30_000
/** Ends in a row, each sooner than HEALTHY, after which the launcher gives up if no other gateway worker serves. */
const MAX_CRASHES = 10

/** @typedef {import('./child.js').End} End */

/**
 * The place of one process: keeps one running there, with backoff between restarts, and replaces it on reload by a new
 * one that is ready before the old one drains.
 */
export class Slot {
  /** @type {Child | undefined} */
  current
  /** Started by a reload, and not ready yet. @type {Child | undefined} */
  #next
  /** Stopping. @type {Set<Child>} */
  #retired = new Set()
  #crashes = 0
  #wasReady = false
  #stopping = false
  #backoff
  #limits
  #clock
  #fork
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #restart

  /**
   * @param {import('./child.js').ChildSettings} settings
   * @param {object} events
   * @param {() => void} events.onChange another process is ready here, or none
   * @param {(message: string) => void} events.onWaits what the start of a process waits for
   * @param {(child: Child, listener?: string) => void} events.onListen it asks for the socket to listen on, of PORT or
   *   of a listener
   * @param {(end: End, loop?: string) => void} events.onRestart it ended unexpectedly and is started again; loop: it
   *   does not stay up
   * @param {() => boolean} [events.othersServe] whether another place has a gateway worker that is ready; default: none
   * @param {(child: Child) => void} [events.onReplaced] a reload has made it ready; the old one is retired next
   * @param {(old: Child, child: Child) => Promise<void>} [events.onRetire] the old one is stopped when this resolves
   * @param {(reason: string) => void} events.onGiveUp it does not start or does not stay up
   * @param {(message: any, handle: any) => void} events.onHandover
   * @param {(child: Child, inspected: boolean) => void} [events.onAnswer] it answers `ask`; inspected: its inspector is
   *   open
   * @param {object} options
   * @param {number} [options.healthy] ms
   * @param {number} [options.maxCrashes]
   * @param {Backoff} [options.backoff]
   * @param {import('./child.js').Fork} options.fork
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'timer' | 'soon'>} options.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'number'>} options.random
   */
  constructor (
    settings,
    events,
    {
      healthy = HEALTHY, maxCrashes = MAX_CRASHES, fork, clock, random,
      backoff = new Backoff({ min: 200, max: 10_000, random })
    }
  ) {
    this.settings = settings
    this.events = events
    this.#limits = { healthy, maxCrashes }
    this.#backoff = backoff
    this.#clock = clock
    this.#fork = fork
  }

  get name () {
    return `${this.settings.role}-${this.settings.slot}`
  }

  get ready () {
    return this.current?.ready ?? false
  }

  /** The process that can accept connections. @returns {Child | undefined} */
  get serving () {
    return this.current?.ready && !this.current.leaving && !this.current.hung ? this.current : undefined
  }

  /** All of its processes that have not ended. @returns {Child[]} */
  get children () {
    return [this.current, this.#next, ...this.#retired].filter((child) => child !== undefined)
  }

  start () {
    this.#restart?.stop()
    this.#use(this.#spawn(this.#wasReady))
  }

  /** @param {boolean} urgent see Child */
  #spawn (urgent) {
    const child = new Child(this.settings, urgent, { fork: this.#fork, clock: this.#clock })
    const { env } = this.settings
    const forkedWith = env.INKCAST_CORDONED
    child.on('ready', () => {
      this.#wasReady = true
      // a change during its start reached only processes that listen
      if (env.INKCAST_CORDONED !== forkedWith) child.send({ type: 'cordon', cordoned: env.INKCAST_CORDONED === '1' })
      this.events.onChange()
    })
    for (const event of ['resumed', 'leaving']) child.on(event, () => this.events.onChange())
    child.on('waits', this.events.onWaits)
    child.on('listen', (listener) => this.events.onListen(child, listener))
    child.on('handover', this.events.onHandover)
    child.on('answer', (inspected) => this.events.onAnswer?.(child, inspected))
    return child
  }

  /** @param {Child} child the one that serves from now on */
  #use (child) {
    this.current = child
    child.on('exit', (end) => {
      if (child === this.current) this.#onEnd(child, end)
    })
    this.events.onChange()
  }

  /** @param {Child} child @param {End} end */
  #onEnd (child, end) {
    this.current = undefined
    this.events.onChange()
    if (this.#stopping) return
    if (child.sacrificed || this.#clock.monotonic() - child.startedAt > this.#limits.healthy) {
      this.#crashes = 0
      this.#backoff.reset()
    }
    this.#crashes++
    const loop = this.#crashes > this.#limits.maxCrashes
      ? `ended ${this.#crashes} times in a row soon after its start, the last time: ${describe(end)}`
      : undefined
    // a process that never became ready will not by itself: a wrong setting, a port in use
    if (!this.#wasReady) this.events.onGiveUp(describe(end))
    // goes on while others serve clients: with a wrong setting nothing would start again after a stop
    else if (loop !== undefined && !this.events.othersServe?.()) this.events.onGiveUp(loop)
    else {
      this.events.onRestart(end, loop)
      // a reload replaces it anyway; otherwise restart at once after a first end, with backoff later
      if (this.#next === undefined)
        this.#restart = this.#clock.timer(this.#crashes === 1 ? 0 : this.#backoff.next(), () => this.start())
    }
  }

  /**
   * Replaces the process: the new one is ready before the old one begins to drain. A new one that does not become
   * ready is given up, and the old one stays.
   * @param {number} timeout ms
   * @returns {Promise<string | null>} why it was not replaced
   */
  async reload (timeout) {
    if (this.#stopping) return 'everything is stopping'
    this.#restart?.stop()
    const next = (this.#next = this.#spawn(this.current === undefined))
    const problem = await readiness(next, timeout, this.#clock)
    this.#next = undefined
    if (problem !== null || this.#stopping) {
      await this.#retire(next)
      // the old one has ended meanwhile
      if (this.current === undefined && !this.#stopping) this.start()
      return problem
    }
    const old = this.current
    // before `onChange`: otherwise the new worker stops to accept for a moment, in which maybe no worker accepts, and
    // node:cluster closes the socket that they share
    this.events.onReplaced?.(next)
    this.#use(next)
    if (old === undefined) return null
    this.#retired.add(old)
    await this.events.onRetire?.(old, next)
    await this.#retire(old)
    return null
  }

  /** @param {Child} child */
  async #retire (child) {
    this.#retired.add(child)
    await child.stop()
    this.#retired.delete(child)
  }

  /**
   * From now on the end of a process is expected: it is about to be stopped, or got a signal that stops the whole
   * group.
   */
  expectEnd () {
    this.#stopping = true
    this.#restart?.stop()
  }

  /** @returns {Promise<void>} resolves when nothing runs here any more */
  async stop () {
    this.expectEnd()
    await Promise.all(this.children.map((child) => child.stop()))
  }

  kill () {
    for (const child of this.children) child.kill()
  }

  /** Kills the process that serves, to see that nothing is lost: it is no crash, and another one is started at once. */
  sacrifice () {
    if (this.current === undefined) return
    this.current.sacrificed = true
    this.current.kill()
  }
}

/** @param {End} end */
const describe = ({ message, signal, code }) => message ?? `ended with ${signal ?? `exit code ${code}`}`

/**
 * @param {Child} child
 * @param {number} timeout ms
 * @param {import('../../base/common/wait.js').Timers} clock
 * @returns {Promise<string | null>} null when it is ready, else why it is not
 */
function readiness (child, timeout, clock) {
  return new Promise((resolve) => {
    const timer = clock.timer(timeout, () => resolve(`the new process was not ready within ${timeout} ms`))
    const settle = (/** @type {string | null} */ problem) => {
      timer.stop()
      resolve(problem)
    }
    child.once('ready', () => settle(null))
    child.once('exit', (end) => settle(`the new process: ${describe(end)}`))
  })
}
