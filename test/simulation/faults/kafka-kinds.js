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
  'slow fetches': {
    needs: 'kafka',
    make ({ broker }, drawn) {
      const ms = drawn.duration(3000)
      const by = drawn.duration(400)
      broker?.slowFetches(ms, by)
      return `answers of Kafka are late by up to ${seconds(by)} for ${seconds(ms)}`
    }
  }
}
