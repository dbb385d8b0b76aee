import path from 'node:path'
import { storeSocket } from './admin/run-directory.js'
import { runRole } from './role.js'
import { createStore } from './store/store.js'

/**
 * The store role: the built-in store in place of Redis, for the processes of one machine in development. Its data ends
 * with this process.
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed>}
 */
async function composeStore ({ privatePath, clock, random, lifecycle }) {
  const store = createStore({ clock, random })
  await store.listen(storeSocket(path.dirname(privatePath)))
  lifecycle.onStop('store', () => store.close())
  return { banner: ['the store listens in the run directory of its launcher'] }
}

await runRole('store', composeStore)
