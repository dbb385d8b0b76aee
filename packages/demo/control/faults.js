/**
 * The faults of the demo: one at a time, while records are published.
 *
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

/**
 * @param {Pick<import('../index.js').Inkcast, 'InkcastError'>} inkcast
 * @param {object} dependencies
 * @param {Machine} dependencies.machine
 * @param {Pick<ReturnType<typeof import('./pulse.js').createPulse>, 'hold' | 'release'>} dependencies.pulse
 * @param {import('../../../src/base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../../src/base/common/clock.js').Clock, 'monotonic' | 'sleep'>} dependencies.clock
 * @param {Times} [dependencies.times]
 */
export function createFaults ({ InkcastError }, { machine, pulse, log, clock, times = TIMES }) {
  /** @type {Fault | null} */
  let fault = null
  let endedAt = -Infinity
  let stopped = false

  const connected = () => machine.workers().reduce((sum, { connections }) => sum + connections, 0)
  const running = () => fault !== null && fault.phase !== 'ended'

  /** @param {() => boolean} done @returns {Promise<boolean>} */
  async function until (done) {
    const deadline = clock.monotonic() + times.patience
    while (!stopped && clock.monotonic() < deadline) {
      if (done()) return true
      await clock.sleep(EVERY)
    }
    return false
  }

  /**
   * @param {Fault} own
   * @param {number} begun
   * @param {() => boolean} [over] whether clients of a killed worker count no longer
   */
  async function clientsBack (own, begun, over = () => true) {
    const back = await until(() => over() && connected() >= own.clients)
    own.ms = Math.round(clock.monotonic() - begun)
    if (!back) own.problem ??= `${connected()} of ${own.clients} clients are back after ${times.patience / 1000} s`
  }

  /** @param {Fault} own @param {number} begun @param {number | undefined} wanted number of the worker */
  async function kill (own, begun, wanted) {
    const workers = machine.workers().filter(({ ready }) => ready)
    const worker = workers.find((one) => one.worker === wanted) ?? workers[0]
    if (worker === undefined) throw new Error('no worker is ready')
    own.worker = worker
    machine.kill(worker.name)
    const { pid, name } = worker
    const successor = () => machine.workers().find((one) => one.name === name && one.pid !== pid)
    // the others take its clients before there is another one
    const back = clientsBack(own, begun, () => successor() !== undefined)
    const replaced = await until(() => successor()?.ready === true)
    own.readyMs = Math.round(clock.monotonic() - begun)
    await back
    if (!replaced) own.problem = `no other worker was ready after ${times.patience / 1000} s`
  }

  /** @param {Fault} own @param {number | undefined} worker */
  async function run (own, worker) {
    await clock.sleep(times.before)
    own.clients = connected()
    own.phase = 'broken'
    const begun = clock.monotonic()
    try {
      if (own.kind === 'kill') await kill(own, begun, worker)
      else {
        own.problem = await machine[own.kind]()
        own.phase = 'mended'
        await clientsBack(own, begun)
      }
      own.phase = 'mended'
    } catch (error) {
      own.problem = error instanceof Error ? error.message : String(error)
      log.warn({ err: error, fault: own.kind }, 'a fault of the demo failed')
    }
    await clock.sleep(times.after)
    own.phase = 'ended'
    endedAt = clock.monotonic()
    pulse.release('fault')
  }

  return {
    /** @returns {Fault | null} */
    get state () {
      if (fault === null) return null
      return { ...fault, back: connected() }
    },

    /**
     * @param {Record<string, unknown>} request kind; document: gets the records; worker: the number of the worker to
     *   kill
     * @throws {InkcastError} bad_request, request_in_progress (409), rate_limited
     */
    begin ({ kind, document, worker }) {
      if (!KINDS.includes(/** @type {any} */ (kind)))
        throw new InkcastError('bad_request', `kind must be one of ${KINDS.join(', ')}`)
      if (running()) throw new InkcastError('request_in_progress', 'another fault is in progress: wait until it has ended')
      const wait = endedAt + times.gap - clock.monotonic()
      if (wait > 0)
        throw new InkcastError('rate_limited', 'one fault has just ended: wait a second', { retryInMs: Math.ceil(wait) })
      pulse.hold('fault', /** @type {string} */ (document))
      fault = {
        number: (fault?.number ?? 0) + 1, kind: /** @type {Kind} */ (kind), phase: 'before', clients: connected(),
        back: connected(), problem: null
      }
      run(fault, typeof worker === 'number' ? worker : undefined)
        .catch((error) => log.error({ err: error }, 'a fault of the demo failed'))
    },

    stop () { stopped = true }
  }
}
