/**
 * Brokers that must have a record before it is acknowledged, for topics with more replicas than that: with three, one
 * broker may be down. Two of two would stop all writes with either of them.
 */
export const MIN_IN_SYNC = 2
/** Drivers whose topics were checked for safety: once per process is enough. @type {WeakSet<object>} */
const told = new WeakSet()

/**
 * Logs which topics acknowledge records that one broker alone has. Never rejects: the settings of topics may be
 * unreadable for inkcast.
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'safety'>} dependencies.kafka
 * @param {string[]} dependencies.topics
 * @param {import('../base/common/log.js').Log} dependencies.log
 */
export async function tellUnsafeTopics ({ kafka, topics, log }) {
  if (told.has(kafka)) return
  told.add(kafka)
  try {
    for (const sentence of unsafeTopics(await kafka.safety(topics))) log.warn(sentence)
  } catch (error) {
    log.debug({ err: error }, 'min.insync.replicas of the Kafka topics could not be read')
  }
}

/**
 * @param {import('./contract.js').Safety} safety
 * @returns {string[]} one sentence for each problem, with what to do. With a single broker there is nothing to do
 */
function unsafeTopics ({ brokers, topics }) {
  const unsafe = brokers < 2 ? [] : topics.filter(({ minInSync }) => minInSync < MIN_IN_SYNC)
  /** @param {(replicas: number) => boolean} has */
  const named = (has) => unsafe.filter(({ replicas }) => has(replicas)).map(({ topic }) => topic).join(', ')
  const settable = named((replicas) => replicas > MIN_IN_SYNC)
  const few = named((replicas) => replicas <= MIN_IN_SYNC)
  return [
    ...(settable === '' ? [] : [
      `Kafka acknowledges records that one broker alone has, in ${settable}: set min.insync.replicas=${MIN_IN_SYNC} (kafka-configs.sh ` +
      `--alter --entity-type topics --entity-name ... --add-config min.insync.replicas=${MIN_IN_SYNC})`
    ]),
    ...(few === '' ? [] : [
      `an acknowledged record can be lost with one broker, because these Kafka topics have fewer than three replicas: ${few}; give them ` +
      `three (kafka-reassign-partitions.sh) and min.insync.replicas=${MIN_IN_SYNC}`
    ])
  ]
}
