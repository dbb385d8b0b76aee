import { rm } from 'node:fs/promises'
import path from 'node:path'
import { storeSocket } from '../admin/run-directory.js'
import { createStore } from '../../redis/store/store.js'

/**
 * The store role: the built-in store in place of Redis, for the processes of one machine in development. Its data ends
 * with this process.
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed>}
 */
export async function composeStore ({ config, privatePath, clock, random, lifecycle }) {
  const store = createStore({ clock, random })
  const socket = storeSocket(path.dirname(privatePath))
  // a killed one could not remove it
  await rm(socket, { force: true })
  await store.listen(socket)
  lifecycle.onStop('store', async () => {
    // a signal to the whole process group reaches it as well, and the others need it until their end
    const deadline = clock.monotonic() + config.gateway.drainTimeout
    while (store.connections.size > 0 && clock.monotonic() < deadline) await clock.sleep(20)
    store.close()
  })
  return { banner: ['the store listens in the run directory of its launcher'] }
}
