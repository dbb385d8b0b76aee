import { DOWNLINK } from '../parts/kafka-service.js'
import { seconds } from './words.js'

/** @typedef {import('./kinds.js').Kind} Kind */

/** @type {Record<string, Kind>} */
export const KAFKA_KINDS = {
  'Kafka is unavailable': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const ms = drawn.duration(2500)
      broker?.away(ms)
      return `Kafka is unavailable for ${seconds(ms)}`
    }
  },
  'Kafka is paused': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const ms = drawn.duration(2500)
      broker?.process.pause(ms)
      return `Kafka is paused for ${seconds(ms)}`
    }
  },
  'Kafka is killed': {
    needs: 'kafka',
    make ({ broker }) {
      broker?.process.end(null)
      return 'Kafka is killed, and keeps its records'
    }
  },
  'rebalance': {
    needs: 'kafka',
    make ({ broker }) {
      broker?.rebalance()
      return 'all groups of Kafka rebalance'
    }
  },
  'election of a leader': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const topics = [...broker?.topics.values() ?? []]
      if (topics.length === 0) return undefined
      const { name, partitions } = drawn.pick(topics)
      const { number } = drawn.pick(partitions)
      broker?.loseEnd(name, number, 0)
      return `${name}/${number} has another leader`
    }
  },
  'lost end of a partition': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const written = broker?.topics.get(DOWNLINK)?.partitions.filter(({ records }) => records.length > 0) ?? []
      if (written.length === 0) return undefined
      const { number } = drawn.pick(written)
      const count = drawn.whole(1, 6)
      broker?.loseEnd(DOWNLINK, number, count)
      return `${DOWNLINK}/${number} loses its last ${count} records`
    }
  },
  'duplicate batches': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const count = drawn.whole(1, 5)
      broker?.duplicate(count)
      return `the next ${count} batches of services are written twice`
    }
  },
  'slow fetches': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const ms = drawn.duration(3000)
      const by = drawn.duration(400)
      broker?.slowFetches(ms, by)
      return `answers of Kafka are late by up to ${seconds(by)} for ${seconds(ms)}`
    }
  },
  'consumer gets no records': {
    onlyNamed: true,
    apart: { share: 0.25, change: 0x77656467 },
    needs: 'kafka',
    make ({ broker }, drawn) {
      const process = broker?.wedge(DOWNLINK, drawn)
      return process && `the consumer of ${process.name} gets no records any more`
    }
  },
  'topic deleted and created again': {
    onlyNamed: true,
    needs: 'kafka',
    mayResync: true,
    make ({ broker }, drawn) {
      const ms = drawn.duration(2000)
      broker?.recreate(DOWNLINK, ms)
      return `${DOWNLINK} is deleted, and created again after ${seconds(ms)}`
    }
  }
}
