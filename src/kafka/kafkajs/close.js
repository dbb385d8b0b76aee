import { within } from '../../base/common/wait.js'

/**
 * Closes a client of kafkajs, which waits for its pending requests without a limit.
 *
 * @param {{ disconnect: () => Promise<void> }} client a producer, consumer, admin or cluster
 * @param {number} timeoutMs
 * @param {import('../../base/common/wait.js').Timers} clock
 * @returns {Promise<boolean>} whether it was closed in time; never rejects
 */
export const closeQuietly = (client, timeoutMs, clock) =>
  within(client.disconnect().then(() => true, () => false), timeoutMs, false, clock)
