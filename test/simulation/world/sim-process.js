/**
 * @typedef {object} Machine
 * @property {string} name
 * @property {number} step of its wall clock, ms
 * @property {boolean} [isNext] what starts on it runs the next version
 */

/**
 * One process of a world: what the production code knows as its clock, random values and host. Only the world wakes it,
 * so a killed one does nothing more.
 */
export class SimProcess {
  isAlive = true
  /** @type {import('./heap.js').Event[] | undefined} what became due while it is paused; undefined: it runs */
  #held
  /** Share of what it writes in its next turn that still leaves it: then it dies. @type {number | undefined} */
  #lastShare
  /** Time of the world at its start, ms. */
  born
  /** @type {Set<(message: any, handle?: any) => void>} */
  #listeners = new Set()
  /** Called with its exit code; null: it was killed. @type {((code: number | null) => void)[]} */
  #onEnd = []
  /** Its messages to the launcher. @type {(message: any) => void} */
  toLauncher = () => {}
  /** @type {SimProcess | null} */
  launcher = null
  /** Whether it runs the next version (next-version.js). */
  isNext = false
  /** Whether it is a page or a service, far away from the cluster. */
  isClient = false
  /** Used share of its heap, for code that looks at it. */
  heapShare = 0.1

  /**
   * @param {import('./world.js').World} world
   * @param {{ name: string, machine: Machine, pid: number }} of
   */
  constructor (world, { name, machine, pid }) {
    this.world = world
    this.name = name
    this.machine = machine
    this.pid = pid
    this.born = world.time
    const drawn = world.random.fork()
    this.drawn = drawn
    /** @type {import('../../../src/base/common/random.js').Random} */
    this.random = { number: drawn.number, bytes: drawn.bytes, uuid: drawn.uuid }
    this.clock = this.#createClock()
    /** @type {import('../../../src/base/process/host.js').Host} */
    this.host = {
      name: machine.name,
      machine: machine.name,
      pid,
      isAlive: (other) =>
        [...world.processes].some((one) => one.pid === other && one.machine === machine && one.isAlive),
      exit: (code) => this.end(code),
      onMessage: (listener) => {
        this.#listeners.add(listener)
        return () => { this.#listeners.delete(listener) }
      },
      send: (message) => { world.schedule(0.05, 'to launcher', () => this.toLauncher(message), this.launcher) }
    }
  }

  /** @returns {import('../../../src/base/common/clock.js').Clock} */
  #createClock () {
    const { world } = this
    return {
      now: () => Math.floor(world.wall + this.machine.step),
      monotonic: () => 1000 + world.time - this.born,
      cpu: () => 0,
      timer: (ms, run) => this.#timer(ms, run, false),
      every: (ms, run) => this.#timer(ms, run, true),
      soon: (run) => {
        this.#used('the clock')
        const event = world.schedule(0, 'soon', run, this)
        return { stop () { event.canceled = true } }
      },
      sleep: (ms, signal) => new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const abort = () => {
          timer.stop()
          reject(signal?.reason)
        }
        const timer = this.#timer(ms, () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        }, false)
        signal?.addEventListener('abort', abort, { once: true })
      })
    }
  }

  /**
   * @param {number} ms
   * @param {() => void} run
   * @param {boolean} again
   * @returns {import('../../../src/base/common/clock.js').Timer}
   */
  #timer (ms, run, again) {
    const { world } = this
    this.#used('the clock')
    // as Node: at least 1 ms, and no more than 32 bits
    const delay = ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
    const begin = () => world.schedule(delay, again ? 'every' : 'timer', () => {
      if (again) event = begin()
      run()
    }, this)
    let event = begin()
    const timer = { stop () { event.canceled = true }, unref: () => timer }
    return timer
  }

  /** Its clock is used. @param {string} what */
  #used (what) {
    const { current } = this.world
    if (current !== this) this.world.violation(`${current?.name ?? 'the world'} uses ${what} of ${this.name}`)
  }

  /** Begins a turn of this process. @param {string} kind @param {() => unknown} run */
  enter (kind, run, delay = 0) { this.world.schedule(delay, kind, () => { run() }, this) }

  /** @param {any} message of the launcher */
  message (message) {
    this.enter('message', () => { for (const listener of [...this.#listeners]) listener(message) }, 0.05)
  }

  /** @param {import('./heap.js').Event} event @returns {boolean} false: not now, or never */
  mayRun (event) {
    if (!this.isAlive) return false
    if (this.#held === undefined) return true
    this.#held.push(event)
    return false
  }

  /** All of its pauses that have ended, ms. */
  pausedFor = 0
  #pausedAt = 0

  get isPaused () { return this.#held !== undefined }

  /** It is stopped, as by SIGSTOP: its connections stay open. @param {number} ms */
  pause (ms) {
    if (this.#held !== undefined || !this.isAlive) return
    /** @type {import('./heap.js').Event[]} */
    const held = this.#held = []
    this.#pausedAt = this.world.time
    this.world.trace.held(this.world.time, this, 'pause')
    this.world.schedule(ms, 'resume', () => { if (this.#held === held) this.resume() }, null)
  }

  resume () {
    if (this.#held === undefined) return
    const held = this.#held
    this.world.trace.held(this.world.time, this, 'resume')
    this.#held = undefined
    this.pausedFor += this.world.time - this.#pausedAt
    for (const event of held) if (!event.canceled) this.world.again(event)
  }

  /** @param {(code: number | null) => void} run */
  onEnd (run) { this.#onEnd.push(run) }

  /**
   * It is killed at the end of its next turn; of the bytes that it writes in it, only the first ones leave.
   * @param {number} share 0 to 1
   */
  killInTurn (share) { this.#lastShare = share }

  /** Share of the bytes of the turn that ends now which leave the process. */
  get lastShare () { return this.#lastShare ?? 1 }

  turnEnded () { if (this.#lastShare !== undefined) this.end(null) }

  /** @param {number | null} code null: by a signal */
  end (code) {
    if (!this.isAlive) return
    const { world } = this
    // what it wrote until it ended itself
    if (world.current === this) world.network.flush()
    this.isAlive = false
    this.#held = undefined
    world.trace.ended(world.time, this, code)
    world.network.processEnded(this)
    for (const run of this.#onEnd) run(code)
  }
}
