/**
 * Closes what may not answer any more. kafkajs waits for requests that are on their way, for ever if need be.
 *
 * @param {{ disconnect: () => Promise<void> }} client a producer, consumer or admin
 * @param {number} timeoutMs
 * @returns {Promise<boolean>} whether it was closed in time; never rejects
 */
export async function closeQuietly (client, timeoutMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(resolve, timeoutMs, false) })
  try {
    return await Promise.race([client.disconnect().then(() => true, () => false), late])
  } finally {
    clearTimeout(timer)
  }
}
