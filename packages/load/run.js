import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { startClients } from './clients.js'
import { preciseNow } from './packets.js'
import { Publisher } from './publisher.js'
import { Samples } from './samples.js'
import { createServer } from './server-figures.js'
import { problemsOf } from './verdict.js'

/**
 * @typedef {object} RunOptions
 * @property {import('./plan.js').Plan} plan
 * @property {number} processes
 * @property {import('./websocket.js').Target} target
 * @property {boolean} loopback the target is in 127.0.0.0/8
 * @property {string[]} sources local addresses of the clients
 * @property {(index: number) => Promise<string | undefined>} tokenOf
 * @property {{ url: string, token: string | undefined }} api
 * @property {{ url: string, token: string | undefined }} admin
 * @property {number} settle ms without progress after which a delivery counts as missing
 * @property {import('./publisher.js').Produce} [produce] publishes every second record of documents, in place of
 *   the api
 * @property {number} [tries] for a publication; default 5
 * @property {() => boolean} [isCalm] true: no client leaves or acts
 * @property {(sample: import('./samples.js').Sample) => void} [onSample]
 * @property {AbortSignal} [signal] ends the run early, in order
 */

const SECOND = 1000
const TICK = 100
/** Longest time until all connections are open after the ramp, ms. */
const LATE = 60_000
/** The server measures its CPU every 5 s, ms. */
const MEASURED = 7000
/** Beyond the timeout of the heartbeat, ms. */
const REMOVAL = 20_000
/** Without TLS. */
const SCHEMES = { socketio: 'http', ws: 'ws', mqtt: 'mqtt' }

/** @typedef {ReturnType<Run['result']>} Result */

/**
 * Opens the connections, publishes while clients come and go, and checks that nothing is missing.
 * @param {RunOptions} options
 */
export async function runLoad (options) {
  const run = new Run(options)
  try {
    await run.begin()
    await run.connect()
    await run.hold()
    await run.expire()
    return run.result()
  } finally {
    await run.end()
  }
}

class Run {
  /** @type {'connect' | 'hold' | 'expire'} */
  phase = 'connect'
  #id = randomBytes(4).toString('hex')
  #started = new Date(preciseNow())
  #begunAt = performance.now()
  #samples = new Samples()
  #options
  #server
  #clients
  #publisher
  /** @type {Error | undefined} */
  #broken
  /** Intervals that the server has measured. */
  #measured = 0
  #sampling = true
  /** Samples once a second. @type {Promise<void>} */
  #regular = Promise.resolve()
  /** Receipts that the server had counted before. @type {import('./server-figures.js').Receipts} */
  #receipts = {}
  /** @type {import('./verdict.js').Facts['missing']} */
  #missing = { documents: 0, everyone: 0, closed: 0, surplus: 0 }
  #unconfirmed = 0
  /** Silent clients that the server has not removed in time. */
  #stillThere = 0

  /** @param {RunOptions} options */
  constructor (options) {
    const { api, admin, plan, processes, produce, tries } = options
    this.#options = options
    this.#server = createServer(admin)
    this.#clients = startClients(processes)
    this.#publisher = new Publisher({ ...api, run: this.#id, plan, produce, tries }, (number) =>
      this.#clients.call('expect', () => number))
  }

  async begin () {
    if (this.#options.plan.receipts) this.#receipts = await this.#server.receipts()
    this.#regular = this.#sampleRegularly().catch(this.#onError)
  }

  async connect () {
    const { plan, target, loopback, sources, tokenOf } = this.#options
    const { size } = this.#clients
    /** @type {(string | undefined)[]} */
    const tokens = []
    for (let i = 0; i < plan.connections; i++) tokens.push(await tokenOf(i))
    const firstOf = (/** @type {number} */ i) => Math.floor(plan.connections * i / size)
    const opening = this.#clients.call('open', (i) => ({
      run: this.#id, plan, target, loopback, sources,
      first: firstOf(i),
      tokens: tokens.slice(firstOf(i), firstOf(i + 1)),
      ramp: plan.ramp / size
    }))
    opening.catch(this.#onError)
    const openNow = () => this.#samples.samples.at(-1)?.connections ?? 0
    const patience = plan.connections / plan.ramp * SECOND + LATE
    await this.#within(patience, () => openNow() >= plan.connections || this.#aborted)
    await this.#untilMeasured()
  }

  /** Publishes for the time of the plan, until everything has come, or nothing comes any more. */
  async hold () {
    this.phase = 'hold'
    const { plan, isCalm } = this.#options
    // a share of a client is left to chance
    const share = (/** @type {number} */ percent) =>
      Math.floor(plan.connections * percent / 100 / this.#clients.size + Math.random())
    const move = async () => {
      if (isCalm?.() === true) return
      if (plan.churn > 0) await this.#clients.call('leave', () => share(plan.churn))
      if (plan.activity > 0) await this.#clients.call('act', () => share(plan.activity))
    }
    // first, while nothing is on its way to a client: one that waits for a record does not leave
    await move()
    this.#publisher.start(this.#onError)
    const begin = performance.now()
    const end = begin + plan.hold * SECOND
    for (let next = begin + SECOND; !this.#aborted; next += SECOND) {
      while (performance.now() < Math.min(next, end) && !this.#aborted) await sleep(TICK)
      if (this.#broken !== undefined) throw this.#broken
      if (performance.now() >= end) break
      await move()
    }
    await this.#publisher.stop()
    await this.#settle()
    await this.#untilMeasured()
  }

  /** Until the server has removed the silent clients and counted all receipts, or has not in time. */
  async expire () {
    this.phase = 'expire'
    const { plan: { silent, receipts }, settle } = this.#options
    const { counts, totals } = this.#samples
    if (silent > 0 && !this.#aborted) {
      const { size } = this.#clients
      const firstOf = (/** @type {number} */ i) => Math.floor(silent * i / size)
      const perProcess = (/** @type {number} */ i) => firstOf(i + 1) - firstOf(i)
      const patience = Math.max(.../** @type {number[]} */ (await this.#clients.call('silence', perProcess)))
      await this.#within(patience + REMOVAL, () => totals.expired >= silent || this.#aborted)
      this.#stillThere = Math.max(0, silent - totals.expired)
    }
    this.#sampling = false
    await this.#regular
    await this.#sample()
    if (!receipts) return
    await this.#within(settle, async () => {
      const { acknowledged = 0 } = await this.#server.receipts()
      this.#unconfirmed = Math.max(0, counts.acknowledged - (acknowledged - (this.#receipts.acknowledged ?? 0)))
      return this.#unconfirmed === 0
    })
  }

  result () {
    const { plan, target } = this.#options
    const { published, failures } = this.#publisher
    const [missing, unconfirmed] = [this.#missing, this.#unconfirmed]
    const problems = problemsOf({
      opened: this.#samples.totals.opened, missing, unconfirmed, failures, counts: this.#samples.counts,
      stillThere: this.#stillThere
    })
    return {
      run: this.#id,
      started: this.#started.toISOString(),
      seconds: (performance.now() - this.#begunAt) / SECOND,
      target: `${SCHEMES[plan.protocol]}${target.secure ? 's' : ''}://${target.host}:${target.port}`,
      processes: this.#clients.size,
      plan,
      ok: problems.length === 0,
      problems,
      published,
      missing,
      unconfirmed,
      summary: this.#samples.summary(),
      samples: this.#samples.samples
    }
  }

  async end () {
    this.#sampling = false
    await this.#publisher.stop()
    await this.#clients.call('close', () => undefined).catch(() => {})
    await this.#clients.stop()
  }

  get #aborted () { return this.#options.signal?.aborted === true }

  /** @param {Error} error of something that goes on beside the phases, which end with it */
  #onError = (error) => { this.#broken = error }

  async #sample () {
    const [snapshots, { usage, cpu, measured }] =
      await Promise.all([this.#clients.call('snapshot', () => undefined), this.#server.usage()])
    this.#measured = measured
    const at = (performance.now() - this.#begunAt) / SECOND
    const sample = this.#samples.add({ at, phase: this.phase, snapshots: /** @type {any} */ (snapshots), usage, cpu })
    this.#options.onSample?.(sample)
  }

  async #sampleRegularly () {
    while (this.#sampling) await Promise.all([this.#sample(), sleep(SECOND)])
  }

  /**
   * @param {number} ms
   * @param {() => boolean | Promise<boolean>} isDone
   */
  async #within (ms, isDone) {
    for (const end = performance.now() + ms; performance.now() < end;) {
      if (this.#broken !== undefined) throw this.#broken
      if (await isDone()) return
      await sleep(TICK)
    }
  }

  /** Until the server has measured what happened before: its CPU belongs to the phase that ends. */
  async #untilMeasured () {
    const before = this.#measured
    await this.#within(MEASURED, () => this.#measured > before || this.#aborted)
  }

  /** Until everything has come, or nothing comes any more. */
  async #settle () {
    let least = Infinity
    for (let since = performance.now(); performance.now() - since < this.#options.settle; await sleep(TICK)) {
      const parts = /** @type {any[]} */ (await this.#clients.call('missing', () => this.#publisher.ends))
      this.#missing = parts.reduce((sum, part) => ({
        documents: sum.documents + part.documents,
        everyone: sum.everyone + part.everyone,
        closed: sum.closed + part.closed,
        surplus: sum.surplus + part.surplus
      }))
      const left = this.#missing.documents + this.#missing.everyone + this.#missing.closed
      if (left === 0) break
      if (left < least) since = performance.now()
      least = Math.min(least, left)
    }
  }
}
