/**
 * Types of the batches that a consumer hands to its handler.
 *
 * @typedef {import('./contract.js').Fetched & Place} ConsumedBatch
 *
 * @typedef {object} Place
 * @property {string} topicId '' where Kafka cannot tell
 * @property {boolean} contiguous no record lies between the batch and the last one that is done in this assignment, or
 *   where reading was to go on
 */

/**
 * Processes a batch. Batches of several partitions run at once, one per partition. After the signal aborts (the process
 * stops, the partition is reassigned) it ends soon.
 * @typedef {(batch: ConsumedBatch, signal: AbortSignal) => Promise<number>} BatchHandler
 *   resolves with how many of the leading records are done, all unless aborted; these are never delivered again
 */

/**
 * @typedef {{ next: number, epoch: number | undefined }} Reached the offset after the last record that is done, and the
 *   epoch of the leader that wrote it
 */

/**
 * How far partitions were read before by any member, so that a new consumer notices what they have lost meanwhile.
 * @typedef {(topicId: string, partitions: number[]) => Promise<Map<number, Reached>>} LastReached those that are known.
 *   Never rejects
 */

export {}
