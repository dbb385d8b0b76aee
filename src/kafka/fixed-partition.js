import kafkajs from 'kafkajs'

/**
 * A message that keeps its partition when it is sent again, also where it has no key: the broker recognises a batch by
 * its place among the batches of its partition.
 *
 * @typedef {import('kafkajs').Message & { chosen?: number }} FixedMessage chosen: its partition since it was first sent
 */

/** Chooses as kafkajs does, and as Kafka's own producers. @type {import('kafkajs').ICustomPartitioner} */
export const createFixedPartitioner = () => {
  const choose = kafkajs.Partitioners.DefaultPartitioner()
  return (args) => {
    const message = /** @type {FixedMessage} */ (args.message)
    // the topic may have been made anew with fewer partitions
    if (
      message.chosen === undefined ||
      !args.partitionMetadata.some(({ partitionId }) => partitionId === message.chosen)
    )
      message.chosen = choose(args)
    return message.chosen
  }
}
