/** After this time `/ready` no longer reports a partition that has lost its end, ms. */
const TELL_LOST_END = 3_600_000

/** The metrics of partitions, and the warnings of `/ready` about them. */
export class PartitionReports {
  #topic
  #metrics
  #clock
  /** @type {Set<number>} partitions with a value in the metrics */
  #seen = new Set()
  /** @type {Map<number, { at: string, noticed: number }>} partitions that lost their end; noticed: monotonic time */
  #lostEnds = new Map()

  /**
   * @param {object} dependencies
   * @param {string} dependencies.topic
   * @param {Pick<import('../observe/metrics/metrics.js').Metrics, 'kafka_lost_ends' | 'kafka_lag' |
   *   'kafka_record_age_seconds'>} dependencies.metrics
   * @param {import('../base/common/clock.js').Clock} dependencies.clock
   */
  constructor ({ topic, metrics, clock }) {
    this.#topic = topic
    this.#metrics = metrics
    this.#clock = clock
  }

  /** @param {number} partition @param {number} records */
  lag (partition, records) {
    this.#seen.add(partition)
    this.#metrics.kafka_lag.set({ partition }, records)
  }

  /**
   * @param {number} partition
   * @param {import('../kafka/contract.js').KafkaRecord} last record that is done
   * @param {number} highWatermark
   */
  done (partition, last, highWatermark) {
    this.lag(partition, Math.max(0, highWatermark - Number(last.offset) - 1))
    const age = Math.max(0, this.#clock.now() - Number(last.timestamp)) / 1000
    this.#metrics.kafka_record_age_seconds.set({ partition }, age)
  }

  /** @param {number} partition */
  lostEnd (partition) {
    const at = new Date(this.#clock.now()).toISOString()
    this.#lostEnds.set(partition, { at, noticed: this.#clock.monotonic() })
    this.#metrics.kafka_lost_ends.inc({ partition })
  }

  /**
   * Begins the count of lost ends at 0, so that an alert sees the first one as an increase, and drops the metrics of
   * partitions that were reassigned: another member reports them.
   * @param {number[]} partitions
   */
  assigned (partitions) {
    for (const partition of this.#seen) {
      if (partitions.includes(partition)) continue
      this.#seen.delete(partition)
      this.#metrics.kafka_lag.remove({ partition })
      this.#metrics.kafka_record_age_seconds.remove({ partition })
      if (!this.#lostEnds.has(partition)) this.#metrics.kafka_lost_ends.remove({ partition })
    }
    for (const partition of partitions) {
      this.#seen.add(partition)
      this.#metrics.kafka_lost_ends.inc({ partition }, 0)
    }
  }

  /** @returns {string[]} they do not make `/ready` fail */
  warnings () {
    const now = this.#clock.monotonic()
    for (const [partition, { noticed }] of this.#lostEnds)
      if (now - noticed > TELL_LOST_END) this.#lostEnds.delete(partition)
    return [...this.#lostEnds].map(([partition, { at }]) =>
      `partition ${partition} of ${this.#topic} lost records that were already read (noticed at ${at})`)
  }
}
