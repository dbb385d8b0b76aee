import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Partitioners } = require('kafkajs')

/**
 * Chooses the partition as kafkajs does, and as Kafka's own producers do, and keeps it when a message is sent again,
 * also where it has no key: the broker recognizes a batch by its position among the batches of its partition.
 *
 * @type {import('kafkajs').ICustomPartitioner}
 */
export const createFixedPartitioner = () => {
  const choose = Partitioners.DefaultPartitioner()
  return (args) => {
    const message = /** @type {import('../contract.js').OutgoingMessage} */ (/** @type {unknown} */ (args.message))
    // the topic may have been created again with fewer partitions
    if (
      message.chosen === undefined ||
      !args.partitionMetadata.some(({ partitionId }) => partitionId === message.chosen)
    )
      message.chosen = choose(args)
    return message.chosen
  }
}
