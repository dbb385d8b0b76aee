/**
 * What came of one partition at once.
 * @typedef {object} Fetched
 * @property {number} partition
 * @property {import('./record.js').KafkaMessage[]} messages in the order of their offsets, at least one
 * @property {number} from the offset that was asked for
 * @property {number} end the offset after its last one, transaction markers included
 * @property {number} highWatermark the offset that the partition's next record will get, when this was fetched
 */

/**
 * @typedef {Fetched & { topicId: string, contiguous: boolean }} ConsumedBatch topicId: which topic of its name it is,
 *   '' where Kafka cannot tell; contiguous: nothing lies between it and what was done before in this assignment, or
 *   where reading was told to go on
 */

/**
 * Processes a batch. Several may run at once, but one per partition. When the signal aborts (the process stops, the
 * partition goes to another member) it comes to its end soon.
 * @typedef {(batch: ConsumedBatch, signal: AbortSignal) => Promise<number>} BatchHandler
 *   resolves with how many of the leading messages are done, all unless aborted; these are never offered again
 */

/**
 * @typedef {{ next: number, epoch: number | undefined }} Reached the offset after the last record that is done, and the
 *   epoch of the leader that wrote it
 */

/**
 * How far partitions were read before by any member, so that a consumer that begins sees what they have lost meanwhile.
 * @typedef {(topicId: string, partitions: number[]) => Promise<Map<number, Reached>>} LastReached those that are known.
 *   Never rejects
 */

export {}
