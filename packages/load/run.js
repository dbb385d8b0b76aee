/**
 * Runs a load: opens the connections, publishes while clients come and go, and checks that nothing is missing.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { startClients } from './clients.js'
import { preciseNow } from './packets.js'
import { createPublisher } from './publisher.js'
import { createSamples } from './samples.js'
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
 *
 * @typedef {Awaited<ReturnType<typeof runLoad>>} Result
 */

const SECOND = 1000
const TICK = 100
/** Longest time until all connections are open after the ramp, ms. */
const LATE = 60_000
/** The server measures its CPU every 5 s, ms. */
const MEASURED = 7000
/** Beyond the timeout of the heartbeat, ms. */
const REMOVAL = 20_000

/** @param {RunOptions} options */
export async function runLoad (options) {
  const { plan, target, loopback, sources, admin, settle, onSample, signal } = options
  const run = randomBytes(4).toString('hex')
  const server = createServer(admin)
  const begin = { receipts: plan.receipts ? await server.receipts() : {} }
  const started = new Date(preciseNow())
  const begunAt = performance.now()
  const clients = startClients(options.processes)
  const samples = createSamples()
  const publisher = createPublisher({ ...options.api, run, plan, produce: options.produce, tries: options.tries }, (number) => clients.call('expect', () => number))
  let phase = 'connect'
  /** @type {Error | undefined} */
  let broken
  /** Intervals that the server has measured. */
  let measured = 0

  async function sample () {
    const [snapshots, { usage, cpu, ...intervals }] = await Promise.all([clients.call('snapshot', () => undefined), server.usage()])
    measured = intervals.measured
    const at = (performance.now() - begunAt) / SECOND
    const taken = samples.add({ at, phase, snapshots: /** @type {any} */ (snapshots), usage, cpu })
    onSample?.(taken)
    return taken
  }

  let sampling = true
  async function sampleRegularly () {
    while (sampling) {
      await Promise.all([sample(), sleep(SECOND)])
    }
  }

  /**
   * @param {number} ms
   * @param {() => boolean | Promise<boolean>} isDone
   */
  async function within (ms, isDone) {
    for (const end = performance.now() + ms; performance.now() < end;) {
      if (broken !== undefined) throw broken
      if (await isDone()) return
      await sleep(TICK)
    }
  }
  const aborted = () => signal?.aborted === true
  const openNow = () => samples.samples.at(-1)?.connections ?? 0

  /** Until the server has measured what happened before: its CPU belongs to the phase that ends. */
  async function untilMeasured () {
    const before = measured
    await within(MEASURED, () => measured > before || aborted())
  }

  async function connectAll () {
    /** @type {(string | undefined)[]} */
    const tokens = []
    for (let i = 0; i < plan.connections; i++) tokens.push(await options.tokenOf(i))
    const firstOf = (/** @type {number} */ i) => Math.floor(plan.connections * i / clients.size)
    const opening = clients.call('open', (i) => ({
      run, plan, target, loopback, sources,
      first: firstOf(i),
      tokens: tokens.slice(firstOf(i), firstOf(i + 1)),
      ramp: plan.ramp / clients.size
    }))
    opening.catch((error) => { broken = error })
    await within(plan.connections / plan.ramp * SECOND + LATE, () => openNow() >= plan.connections || aborted())
  }

  async function hold () {
    const end = performance.now() + plan.hold * SECOND
    for (let next = performance.now(); performance.now() < end && !aborted();) {
      if (broken !== undefined) throw broken
      const isCalm = options.isCalm?.() === true
      // a share of a client is left to chance
      const share = (/** @type {number} */ percent) =>
        Math.floor(plan.connections * percent / 100 / clients.size + Math.random())
      if (plan.churn > 0 && !isCalm) await clients.call('leave', () => share(plan.churn))
      if (plan.activity > 0 && !isCalm) await clients.call('act', () => share(plan.activity))
      next += SECOND
      while (performance.now() < Math.min(next, end) && !aborted()) await sleep(TICK)
    }
  }

  /**
   * After everything has come, or nothing comes any more.
   * @returns {Promise<import('./verdict.js').Facts['missing']>}
   */
  async function settled () {
    let missing = { documents: 0, everyone: 0, closed: 0, surplus: 0 }
    let least = Infinity
    for (let quietSince = performance.now(); performance.now() - quietSince < settle; await sleep(TICK)) {
      const parts = /** @type {any[]} */ (await clients.call('missing', () => publisher.ends))
      missing = parts.reduce((sum, part) => ({
        documents: sum.documents + part.documents,
        everyone: sum.everyone + part.everyone,
        closed: sum.closed + part.closed,
        surplus: sum.surplus + part.surplus
      }))
      const left = missing.documents + missing.everyone + missing.closed
      if (left === 0) break
      if (left < least) quietSince = performance.now()
      least = Math.min(least, left)
    }
    return missing
  }

  /** @returns {Promise<number>} acknowledgements of clients that the server has not counted */
  async function unconfirmed () {
    if (!plan.receipts) return 0
    let left = 0
    await within(settle, async () => {
      const { acknowledged = 0 } = await server.receipts()
      left = samples.counts.acknowledged - (acknowledged - (begin.receipts.acknowledged ?? 0))
      return left <= 0
    })
    return Math.max(0, left)
  }

  /** @returns {Promise<number>} silent clients that the server has not removed in time */
  async function expire () {
    if (plan.silent === 0 || aborted()) return 0
    const perProcess = (/** @type {number} */ i) =>
      Math.floor(plan.silent * (i + 1) / clients.size) - Math.floor(plan.silent * i / clients.size)
    const patience = Math.max(.../** @type {number[]} */ (await clients.call('silence', perProcess)))
    await within(patience + REMOVAL, () => samples.totals.expired >= plan.silent || aborted())
    return Math.max(0, plan.silent - samples.totals.expired)
  }

  const regular = sampleRegularly().catch((error) => { broken = error })
  try {
    await connectAll()
    await untilMeasured()
    phase = 'hold'
    publisher.start((error) => { broken = error })
    await hold()
    await publisher.stop()
    const missing = await settled()
    await untilMeasured()
    phase = 'expire'
    const stillThere = await expire()
    sampling = false
    await regular
    await sample()
    const facts = {
      missing, stillThere, counts: samples.counts, failures: publisher.failures, unconfirmed: await unconfirmed()
    }
    const problems = problemsOf(facts)
    return {
      run,
      started: started.toISOString(),
      seconds: (performance.now() - begunAt) / SECOND,
      target: `${target.secure ? 'https' : 'http'}://${target.host}:${target.port}`,
      processes: clients.size,
      plan,
      ok: problems.length === 0,
      problems,
      published: publisher.published,
      missing,
      unconfirmed: facts.unconfirmed,
      summary: samples.summary(),
      samples: samples.samples
    }
  } finally {
    sampling = false
    await publisher.stop()
    await clients.call('close', () => undefined).catch(() => {})
    await clients.stop()
  }
}
