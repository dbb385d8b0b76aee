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
 * @property {import('./server.js').Usage[]} usage
 */

export function createSamples () {
  /** @type {Sample[]} */
  const samples = []
  const latencies = new Histogram()
  const handshakes = new Histogram()
  /** @type {Record<string, number>} */
  const errors = {}
  const counts = { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 }
  const totals = { opened: 0, reconnects: 0, left: 0, expired: 0 }
  let lastAt = 0

  return {
    samples,
    counts,
    totals,

    /**
     * @param {{ at: number, phase: string, snapshots: Snapshot[], usage: import('./server.js').Usage[] }} tick at: s
     * @returns {Sample}
     */
    add ({ at, phase, snapshots, usage }) {
      const seconds = Math.max(0.001, at - lastAt)
      lastAt = at
      const before = counts.deliveries
      for (const name of /** @type {(keyof typeof counts)[]} */ (Object.keys(counts)))
        counts[name] = sum(snapshots, (snapshot) => snapshot.counts[name])
      /** @param {keyof typeof totals} name */
      const rate = (name) => {
        const count = sum(snapshots, (snapshot) => snapshot[name])
        totals[name] += count
        return count / seconds
      }
      const second = new Histogram()
      let failed = 0
      for (const snapshot of snapshots) {
        second.merge(snapshot.latencies)
        latencies.merge(snapshot.latencies)
        handshakes.merge(snapshot.handshakes)
        for (const [reason, count] of Object.entries(snapshot.errors)) {
          errors[reason] = (errors[reason] ?? 0) + count
          failed += count
        }
      }
      const sample = {
        at,
        phase,
        connections: sum(snapshots, ({ open }) => open),
        connectionsPerSecond: rate('opened'),
        deliveriesPerSecond: (counts.deliveries - before) / seconds,
        p50: second.quantile(0.5),
        p99: second.quantile(0.99),
        max: second.count === 0 ? null : second.max,
        holes: counts.holes,
        reconnects: rate('reconnects'),
        left: rate('left'),
        expired: rate('expired'),
        errors: failed / seconds,
        usage
      }
      samples.push(sample)
      return sample
    },

    summary () {
      /** @param {(sample: Sample) => number} of */
      const peak = (of) => Math.max(0, ...samples.map(of))
      return {
        connections: peak(({ connections }) => connections),
        opened: totals.opened,
        peakConnectionsPerSecond: peak(({ connectionsPerSecond }) => connectionsPerSecond),
        deliveries: counts.deliveries,
        peakDeliveriesPerSecond: peak(({ deliveriesPerSecond }) => deliveriesPerSecond),
        acknowledged: counts.acknowledged,
        latency: quantiles(latencies),
        handshake: quantiles(handshakes),
        reconnects: totals.reconnects,
        left: totals.left,
        expired: totals.expired,
        peakExpiredPerSecond: peak(({ expired }) => expired),
        holes: counts.holes,
        doubled: counts.doubled,
        peakCores: peak(({ usage }) => sum(usage, ({ cores }) => cores)),
        peakMemory: peak(({ usage }) => sum(usage, ({ memory }) => memory)),
        errors
      }
    }
  }
}

/** @param {Histogram} histogram ms */
const quantiles = (histogram) => ({
  p50: histogram.quantile(0.5),
  p99: histogram.quantile(0.99),
  max: histogram.count === 0 ? null : histogram.max
})

/** @template T @param {T[]} items @param {(item: T) => number} of */
const sum = (items, of) => items.reduce((total, item) => total + of(item), 0)
