/**
 * One sample per second, added up from the client processes, and the summary of a run.
 */
import { Histogram } from './histogram.js'

/**
 * @typedef {import('./process.js').Snapshot} Snapshot
 *
 * @typedef {object} Sample
 * @property {number} at s since the start
 * @property {string} phase
 * @property {number} connections
 * @property {number} connectionsPerSecond
 * @property {number} deliveriesPerSecond
 * @property {number | null} p50 latency from the publication to the client, ms
 * @property {number | null} p99
 * @property {number | null} max
 * @property {number} holes since the start
 * @property {number} reconnects per second
 * @property {number} left per second
 * @property {number} expired per second
 * @property {number} errors per second
 * @property {import('./server-figures.js').Usage[]} usage
 * @property {number} cpu of all processes of the server since the start, s
 *
 * @typedef {object} Phase
 * @property {number} cpu of all processes of the server, s
 * @property {number} opened
 * @property {number} deliveries
 */

export class Samples {
  /** @type {Sample[]} */
  samples = []
  /** Of all clients since the start. */
  counts = { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 }
  totals = { opened: 0, reconnects: 0, left: 0, expired: 0 }
  #latencies = new Histogram()
  #handshakes = new Histogram()
  /** @type {Record<string, number>} */
  #errors = {}
  /** Deliveries of each client process. @type {number[]} */
  #delivered = []
  #cpu = 0
  /** @type {Record<string, Phase>} */
  #phases = {}

  /**
   * @param {object} tick
   * @param {number} tick.at s
   * @param {string} tick.phase
   * @param {Snapshot[]} tick.snapshots of each client process
   * @param {import('./server-figures.js').Usage[]} tick.usage
   * @param {number} [tick.cpu] of all processes of the server since the start, s
   * @returns {Sample}
   */
  add ({ at, phase, snapshots, usage, cpu = 0 }) {
    const before = { deliveries: this.counts.deliveries, opened: this.totals.opened }
    for (const name of /** @type {(keyof Samples['counts'])[]} */ (Object.keys(this.counts)))
      this.counts[name] = sum(snapshots, (snapshot) => snapshot.counts[name])
    /** @param {keyof Samples['totals']} name */
    const rate = (name) => {
      this.totals[name] += sum(snapshots, (snapshot) => snapshot[name])
      return sum(snapshots, (snapshot) => snapshot[name] / snapshot.seconds)
    }
    const { latencies, errors } = this.#merge(snapshots)
    const sample = {
      at,
      phase,
      connections: sum(snapshots, ({ open }) => open),
      connectionsPerSecond: rate('opened'),
      deliveriesPerSecond: snapshots.reduce(
        (total, { seconds, counts }, i) => total + (counts.deliveries - (this.#delivered[i] ?? 0)) / seconds, 0
      ),
      ...quantiles(latencies),
      holes: this.counts.holes,
      reconnects: rate('reconnects'),
      left: rate('left'),
      expired: rate('expired'),
      errors,
      usage,
      cpu
    }
    this.#delivered = snapshots.map(({ counts }) => counts.deliveries)
    const own = this.#phases[phase] ??= { cpu: 0, opened: 0, deliveries: 0 }
    own.cpu += cpu - this.#cpu
    own.opened += this.totals.opened - before.opened
    own.deliveries += this.counts.deliveries - before.deliveries
    this.#cpu = cpu
    this.samples.push(sample)
    return sample
  }

  summary () {
    const { samples, counts, totals } = this
    /** @param {(sample: Sample) => number} of */
    const peak = (of) => Math.max(0, ...samples.map(of))
    return {
      connections: peak(({ connections }) => connections),
      held: samples.findLast(({ phase }) => phase === 'hold')?.connections ?? 0,
      opened: totals.opened,
      peakConnectionsPerSecond: peak(({ connectionsPerSecond }) => connectionsPerSecond),
      deliveries: counts.deliveries,
      peakDeliveriesPerSecond: peak(({ deliveriesPerSecond }) => deliveriesPerSecond),
      acknowledged: counts.acknowledged,
      latency: quantiles(this.#latencies),
      handshake: quantiles(this.#handshakes),
      reconnects: totals.reconnects,
      left: totals.left,
      expired: totals.expired,
      peakExpiredPerSecond: peak(({ expired }) => expired),
      holes: counts.holes,
      doubled: counts.doubled,
      peakCores: peak(({ usage }) => sum(usage, ({ cores }) => cores)),
      peakMemory: peak(({ usage }) => sum(usage, ({ memory }) => memory)),
      memoryBefore: memoryOf(samples.find(({ usage }) => usage.length > 0)),
      memoryHeld: memoryOf(samples.find(({ phase, usage }) => phase === 'hold' && usage.length > 0)),
      memoryAfter: memoryOf(samples.findLast(({ phase, usage }) => phase === 'hold' && usage.length > 0)),
      phases: this.#phases,
      errors: this.#errors
    }
  }

  /** @param {Snapshot[]} snapshots @returns {{ latencies: Histogram, errors: number }} errors: per second */
  #merge (snapshots) {
    const latencies = new Histogram()
    let errors = 0
    for (const snapshot of snapshots) {
      latencies.merge(snapshot.latencies)
      this.#latencies.merge(snapshot.latencies)
      this.#handshakes.merge(snapshot.handshakes)
      for (const [reason, count] of Object.entries(snapshot.errors)) {
        this.#errors[reason] = (this.#errors[reason] ?? 0) + count
        errors += count / snapshot.seconds
      }
    }
    return { latencies, errors }
  }
}

/** @param {Sample | undefined} sample @returns {number} bytes of all processes of the server */
const memoryOf = (sample) => sum(sample?.usage ?? [], ({ memory }) => memory)

/** @param {Histogram} histogram ms */
const quantiles = (histogram) => ({
  p50: histogram.quantile(0.5),
  p99: histogram.quantile(0.99),
  max: histogram.count === 0 ? null : histogram.max
})

/** @template T @param {T[]} items @param {(item: T) => number} of */
const sum = (items, of) => items.reduce((total, item) => total + of(item), 0)
