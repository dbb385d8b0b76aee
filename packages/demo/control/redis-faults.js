/**
 * Faults of Redis, or of the built-in store, with its own commands. They need no access to the server's machine, and
 * nothing is lost in it.
 *
 * @typedef {object} Settings
 * @property {import('../index.js').Inkcast} inkcast
 * @property {import('../index.js').Services} services
 * @property {readonly string[]} urls
 */

/** For Redis to be there before, and after a pause, ms. */
const PATIENCE = 10_000
const EVERY = 20

/**
 * `CLIENT PAUSE` suspends the commands of all clients for a time, and then goes on by itself.
 * @param {Settings & { pause: number }} settings pause: ms
 * @returns {Promise<string | null>} null when Redis answers again, else why not
 */
export const freezeRedis = ({ pause, ...settings }) => onNodes(settings, async (nodes) => {
  const { clock } = settings.services
  await Promise.all(nodes.map((node) => node.client('PAUSE', pause)))
  const deadline = clock.monotonic() + pause + PATIENCE
  for (;;) {
    // while it is frozen, each attempt fails after a time
    const answered = await Promise.all(nodes.map((node) => node.ping())).then(() => true, () => false)
    if (answered) return null
    if (clock.monotonic() > deadline) return 'Redis does not answer again'
    await clock.sleep(EVERY)
  }
})

/**
 * `CLIENT KILL TYPE pubsub` closes the connections over which the workers get records.
 * @param {Settings} settings
 * @returns {Promise<string | null>} null, or why it was refused
 */
export const cutSubscribers = (settings) => onNodes(settings, async (nodes) => {
  await Promise.all(nodes.map((node) => node.call('CLIENT', 'KILL', 'TYPE', 'pubsub')))
  return null
})

/**
 * @param {Settings} settings
 * @param {(nodes: import('ioredis').Redis[]) => Promise<string | null>} act
 * @returns {Promise<string | null>}
 */
async function onNodes ({ inkcast, services, urls }, act) {
  const redis = inkcast.createRedis({ urls: [...urls], name: 'demo', ...services })
  try {
    const started = redis.start().then(() => null, (error) => error.message)
    const problem = await inkcast.within(started, PATIENCE, 'Redis is unavailable', services.clock)
    if (problem !== null) return problem
    const { client } = redis
    return await act('nodes' in client ? client.nodes('master') : [client])
  } catch (error) {
    return `Redis refuses it: ${/** @type {Error} */ (error).message}`
  } finally {
    await redis.stop()
  }
}
