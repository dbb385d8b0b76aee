import { setTimeout as delay } from 'node:timers/promises'
import { say } from './scene.js'

/** As systemd's RestartSec, ms. */
const RESTART = 100

/**
 * Keeps a cluster running as a supervisor does: starts it again whenever it has ended, until it stays.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {(t: { after: (stop: () => unknown) => void }) => ReturnType<typeof
 *   import('../helpers/cluster.js').startCluster>} start rejects when it does not become ready
 */
export async function supervise (t, start) {
  // each stops the one that runs
  const noScope = { after () {} }
  let current = await start(noScope)
  let stopped = false
  /** @type {Promise<void>} */
  let restarted
  const watch = () => {
    restarted = current.exited.then(async () => {
      for (let tries = 1; !stopped; tries++) {
        await delay(RESTART)
        try {
          current = await start(noScope)
          say(`started again with try ${tries}`)
          return watch()
        } catch {
          // what was left of the last one may still be in its way
        }
      }
    })
  }
  watch()
  t.after(async () => {
    stopped = true
    await current.stop()
  })
  return {
    get current () { return current },
    /** @returns {Promise<void>} resolves when the one that has been killed is replaced */
    restarted: () => restarted
  }
}
