import assert from 'node:assert/strict'
import { systemRandom } from '../../../src/base/common/random.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { publicationWith } from '../../helpers/publication.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { Receipts } from '../../../src/documents/receipts/receipts.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'

export { TICK } from '../../../src/transport/heartbeat/wheel.js'
export const TIMEOUT = 10_000

/** @typedef {import('../../../src/documents/receipts/summary.js').Summary} Summary */

export class FakeConnection {
  /** @type {import('../../../src/documents/receipts/receipt.js').Receiver | null} */
  receiver = null

  /** @param {number} i */
  constructor (i) {
    this.id = `sid-${i}`
    this.uid = `user-${i}`
  }
}

/** @param {number} count */
export const connections = (count) => Array.from({ length: count }, (_, i) => new FakeConnection(i))

/**
 * Simulates redis-receipts.js for workers of this process; the contract tests check the real one against the same
 * rules.
 */
export class FakeParts {
  /** @type {Map<string, Map<number, object | number>>} */
  all = new Map()
  failing = false
  /** Ids that workers would leave behind. @type {Set<string>} */
  held = new Set()

  /** @param {number} worker @returns {import('../../../src/documents/receipts/redis-receipts.js').ReceiptParts} */
  of (worker) {
    const note = async (
      /** @type {string} */ id,
      /** @type {object | number} */ part,
      /** @type {boolean} */ announced
    ) => {
      if (this.failing) throw new Error('redis is unavailable')
      const parts = this.all.get(id) ?? new Map()
      if (announced && !parts.has(worker)) return []
      this.all.set(id, parts.set(worker, part))
      if ([...parts.values()].some((each) => typeof each === 'number')) return []
      this.all.delete(id)
      return [...parts.values()]
    }
    return {
      holder: () => `${worker}.1`,
      announce: async (id, { delivered, shared }, holder) => {
        if (shared) await note(id, delivered, false)
        this.held.add(`${holder} ${id}`)
      },
      settled: async (id, holder) => this.held.delete(`${holder} ${id}`),
      report: note,
      close: async (id) => {
        if (this.failing) throw new Error('redis is unavailable')
        const parts = this.all.get(id)
        this.all.delete(id)
        return [...parts?.values() ?? []]
      }
    }
  }
}

/**
 * @param {object} [options]
 * @param {number} [options.max] pending acknowledgements
 * @param {number} [options.sample] share of records that are sampled
 * @param {import('../../../src/documents/receipts/redis-receipts.js').ReceiptParts} [options.parts]
 * @param {ReturnType<typeof manualClock>} [options.clock]
 */
export function setUp ({ max = 100_000, sample = 0, parts, clock = manualClock() } = {}) {
  const metrics = createMetrics({ processMetrics: false })
  /** @type {import('../../../src/log/publish/uplink.js').UplinkRecord[]} */
  const sent = []
  const uplink = {
    failing: false,
    async send (/** @type {import('../../../src/log/publish/uplink.js').UplinkRecord} */ record) {
      if (this.failing) throw new Error('kafka is unavailable')
      sent.push(record)
    }
  }
  const receipts = new Receipts({
    settings: { receiptTimeout: TIMEOUT, receiptSample: sample, maxPendingReceipts: max },
    uplink,
    parts,
    metrics,
    log: recordingLog().log,
    clock,
    random: systemRandom
  })
  return {
    receipts, clock, sent, uplink, metrics,
    /**
     * @param {FakeConnection[]} members
     * @param {Partial<import('../../../src/wire/publication.js').Publication>} [fields]
     * @param {string} [id]
     */
    deliver (members, fields, id) {
      const receipt = /** @type {import('../../../src/documents/receipts/receipt.js').Receipt} */ (
        receipts.open(publicationWith({ receipt: true, ...fields }), id)
      )
      for (const member of members) receipt.ask(member)
      return receipt
    },
    /** @param {FakeConnection} connection @param {{ ackId: number | undefined }} receipt */
    acknowledge: (connection, receipt) =>
      receipts.acknowledge(/** @type {any} */ (connection), /** @type {number} */ (receipt.ackId)),
    /** @param {number} ms */
    pass (ms) {
      clock.advance(ms)
      receipts.tick()
      // what is left of a large batch
      for (let turns = 0; turns < 100; turns++) clock.turn()
    },
    /** @param {number} count @returns {Promise<Summary[]>} */
    async summaries (count) {
      await waitFor(() => sent.length >= count, { message: () => `${count} summaries, there are ${sent.length}` })
      return sent.map(({ value }) => JSON.parse(value.toString()))
    },
    async counted () {
      await metrics.collect()
      const { values } = await metrics.receipts.get()
      return Object.fromEntries(
        values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.result, value])
      )
    }
  }
}

/** Waits for all started work. */
export const turns = async () => { for (let i = 0; i < 20; i++) await Promise.resolve() }

/** @param {Summary} summary */
export function assertAddsUp ({ delivered, acknowledged, missing, more, unasked }) {
  assert.equal(delivered, acknowledged + missing.length + more + unasked)
}
