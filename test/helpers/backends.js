import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createStore } from '../../src/redis/store/store.js'
import { redisClusterUrl, redisUrl } from './env.js'
import { fileScope } from './file-scope.js'

const scope = fileScope()

/** @returns {Promise<string>} URL of another built-in store, until the file ends */
export async function ownStoreUrl () {
  const store = createStore({ clock: systemClock, random: systemRandom })
  scope.after(() => store.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ ((await store.listen(0)).address())
  return `redis://127.0.0.1:${port}`
}

const shared = await ownStoreUrl()

/** @returns {string} URL of a built-in store, which the tests of a file share */
export const storeUrl = () => shared

/**
 * Where a suite of Redis runs: names, and URLs with commas between them.
 * @type {readonly (readonly [name: string, url: () => string])[]}
 */
export const BACKENDS = [['built-in store', storeUrl], ['redis', redisUrl], ['redis cluster', redisClusterUrl]]
