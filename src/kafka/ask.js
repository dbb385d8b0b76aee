import { Backoff, retry } from '../base/common/backoff.js'

/** Brokers learn of a started broker, a topic or a leader one after the other: retries take about 2 s. */
const TRIES = 6

/**
 * @template T
 * @param {() => Promise<T>} ask
 * @param {Pick<import('../observe/services.js').Services, 'clock' | 'random'>} services
 */
export function askWithRetries (ask, { clock, random }) {
  const backoff = new Backoff({ min: 100, max: 1000, random })
  return retry(ask, { backoff, clock, retryable: () => backoff.tries < TRIES - 1 })
}

/**
 * @template T
 * @param {Pick<import('./contract.js').KafkaDriver, 'inspect'>} kafka
 * @param {(inspector: import('./contract.js').Inspector) => Promise<T>} ask
 */
export async function inspect (kafka, ask) {
  const inspector = await kafka.inspect({ retries: 1 })
  try {
    return await ask(inspector)
  } finally {
    inspector.close()
  }
}
