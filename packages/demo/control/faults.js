/**
 * @typedef {object} Worker
 * @property {string} name `gateway-0`
 * @property {number} [worker] its number, with which the ids of its connections begin
 * @property {number} [pid]
 * @property {number} connections as it said last
 * @property {boolean} ready
 *
 * @typedef {object} Machine what the launcher can do
 * @property {() => Worker[]} workers gateway workers
 * @property {(name: string) => void} kill SIGKILL; another one is started in its place
 * @property {() => Promise<string | null>} reload resolves when it has ended, with the problem
 * @property {() => Promise<string | null>} freeze resolves when Redis answers again, with the problem
 * @property {() => Promise<string | null>} cut closes the workers' subscriptions; resolves with the problem
 *
 * @typedef {'kill' | 'reload' | 'freeze' | 'cut'} Kind
 *
 * @typedef {object} Fault the last one, or the one in progress
 * @property {number} number
 * @property {Kind} kind
 * @property {'before' | 'broken' | 'mended' | 'ended'} phase before: records are published, nothing is broken yet
 * @property {number} [ms] from the fault until all clients were connected
 * @property {number} [readyMs] kill: until another worker was ready
 * @property {Worker} [worker] kill: the worker that was killed
 * @property {number} clients connections of all workers before it
 * @property {number} back connections of all workers now
 * @property {string | null} problem
 */

/**
 * @typedef {object} Times ms
 * @property {number} before records are published for this time before the fault
 * @property {number} after and for this time after it
 * @property {number} patience for the clients to be back
 * @property {number} gap pause between two faults
 */

/** @type {Times} */
const TIMES = { before: 800, after: 1000, patience: 60_000, gap: 1000 }
const EVERY = 50

/** @type {Kind[]} */
export const KINDS = ['kill', 'reload', 'freeze', 'cut']

/** The faults of the demo: one at a time, while records are published. */
export class Faults {
  #inkcast
  #machine
  #pulse
  #log
  #clock
  #times
  /** @type {Fault | null} */
  #fault = null
  #endedAt = -Infinity
  #stopped = false

  /**
   * @param {Pick<import('../index.js').Inkcast, 'InkcastError'>} inkcast
   * @param {object} dependencies
   * @param {Machine} dependencies.machine
   * @param {Pick<import('./pulse.js').Pulse, 'hold' | 'release'>} dependencies.pulse
   * @param {import('../../../src/base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../../../src/base/common/clock.js').Clock, 'monotonic' | 'sleep'>} dependencies.clock
   * @param {Times} [dependencies.times]
   */
  constructor (inkcast, { machine, pulse, log, clock, times = TIMES }) {
    this.#inkcast = inkcast
    this.#machine = machine
    this.#pulse = pulse
    this.#log = log
    this.#clock = clock
    this.#times = times
  }

  /** @returns {Fault | null} */
  get state () { return this.#fault && { ...this.#fault, back: this.#connected() } }

  /**
   * @param {Record<string, unknown>} request kind; document: gets the records; worker: the number of the worker to
   *   kill
   * @throws {InkcastError} bad_request, request_in_progress (409), rate_limited
   */
  begin ({ kind, document, worker }) {
    const { InkcastError } = this.#inkcast
    if (!KINDS.includes(/** @type {any} */ (kind)))
      throw new InkcastError('bad_request', `kind must be one of ${KINDS.join(', ')}`)
    if (this.#fault !== null && this.#fault.phase !== 'ended')
      throw new InkcastError('request_in_progress', 'another fault is in progress: wait until it has ended')
    const wait = this.#endedAt + this.#times.gap - this.#clock.monotonic()
    if (wait > 0)
      throw new InkcastError('rate_limited', 'one fault has just ended: wait a second', { retryInMs: Math.ceil(wait) })
    this.#pulse.hold('fault', /** @type {string} */ (document))
    const fault = this.#fault = {
      number: (this.#fault?.number ?? 0) + 1, kind: /** @type {Kind} */ (kind), phase: 'before',
      clients: this.#connected(), back: this.#connected(), problem: null
    }
    this.#run(fault, typeof worker === 'number' ? worker : undefined)
      .catch((error) => this.#log.error({ err: error }, 'a fault of the demo failed'))
  }

  stop () { this.#stopped = true }

  #connected () { return this.#machine.workers().reduce((sum, { connections }) => sum + connections, 0) }

  /** @param {Fault} own @param {number | undefined} worker */
  async #run (own, worker) {
    const clock = this.#clock
    await clock.sleep(this.#times.before)
    own.clients = this.#connected()
    own.phase = 'broken'
    const begun = clock.monotonic()
    try {
      if (own.kind === 'kill') await this.#kill(own, begun, worker)
      else {
        own.problem = await this.#machine[own.kind]()
        own.phase = 'mended'
        await this.#clientsBack(own, begun)
      }
      own.phase = 'mended'
    } catch (error) {
      own.problem = error instanceof Error ? error.message : String(error)
      this.#log.warn({ err: error, fault: own.kind }, 'a fault of the demo failed')
    }
    await clock.sleep(this.#times.after)
    own.phase = 'ended'
    this.#endedAt = clock.monotonic()
    this.#pulse.release('fault')
  }

  /** @param {Fault} own @param {number} begun @param {number | undefined} wanted number of the worker */
  async #kill (own, begun, wanted) {
    const machine = this.#machine
    const workers = machine.workers().filter(({ ready }) => ready)
    const worker = workers.find((one) => one.worker === wanted) ?? workers[0]
    if (worker === undefined) throw new Error('no worker is ready')
    own.worker = worker
    machine.kill(worker.name)
    const { pid, name } = worker
    const successor = () => machine.workers().find((one) => one.name === name && one.pid !== pid)
    // the others take its clients before there is another one
    const back = this.#clientsBack(own, begun, () => successor() !== undefined)
    const replaced = await this.#until(() => successor()?.ready === true)
    own.readyMs = Math.round(this.#clock.monotonic() - begun)
    await back
    if (!replaced) own.problem = `no other worker was ready after ${this.#times.patience / 1000} s`
  }

  /**
   * @param {Fault} own
   * @param {number} begun
   * @param {() => boolean} [over] whether clients of a killed worker count no longer
   */
  async #clientsBack (own, begun, over = () => true) {
    const back = await this.#until(() => over() && this.#connected() >= own.clients)
    own.ms = Math.round(this.#clock.monotonic() - begun)
    if (!back)
      own.problem ??= `${this.#connected()} of ${own.clients} clients are back after ${this.#times.patience / 1000} s`
  }

  /** @param {() => boolean} done @returns {Promise<boolean>} */
  async #until (done) {
    const clock = this.#clock
    const deadline = clock.monotonic() + this.#times.patience
    while (!this.#stopped && clock.monotonic() < deadline) {
      if (done()) return true
      await clock.sleep(EVERY)
    }
    return false
  }
}
