/**
 * Types of the batches that a consumer passes to its handler.
 *
 * @typedef {import('./contract.js').Fetched & Place} ConsumedBatch
 *
 * @typedef {object} Place
 * @property {string} topicId '' where Kafka cannot report it
 * @property {boolean} contiguous whether the batch directly follows the last record that is done in this assignment, or
 *   the offset that was set
 */

/**
 * Processes a batch. Batches of several partitions run at once, one per partition. After the signal aborts (the process
 * stops, the partition is reassigned) it ends soon.
 * @typedef {(batch: ConsumedBatch, signal: AbortSignal) => Promise<number>} BatchHandler
 *   resolves with the number of leading records that are done, all unless aborted; these are never delivered again
 */

/**
 * @typedef {{ next: number, epoch: number | undefined }} Reached the offset after the last record that is done, and the
 *   epoch of the leader that wrote it
 */

/**
 * The progress of earlier owners of partitions, so that a new consumer detects records that were lost meanwhile.
 * @typedef {(topicId: string, partitions: number[]) => Promise<Map<number, Reached>>} LastReached only known
 *   partitions. Never rejects
 */

/**
 * Functions that a consumer calls.
 *
 * @typedef {object} Reader
 * @property {BatchHandler} handle
 * @property {(signal: AbortSignal) => Promise<unknown>} [prepare] done before each connection
 * @property {(partitions: number[]) => void} [onAssigned] called with the partitions of each assignment
 * @property {(partition: number, records: number) => void} [onLag] called every 10 s with the number of records of each
 *   partition that are not done
 * @property {LastReached} [lastReached]
 * @property {(partition: number) => void} [onLostEnd] called when a partition has lost records that were already read;
 *   reading continues behind the loss
 * @property {(error: unknown) => void} [onFailure] called at each replacement
 */

/**
 * @typedef {Pick<import('../observe/services.js').Services, 'log' | 'clock' | 'random'> & Own} ConsumerDependencies
 * @typedef {object} Own
 * @property {import('./contract.js').KafkaDriver} kafka
 * @property {{ topic: string, groupId: string }} settings
 * @property {Reader} reader
 */

export {}
