import { setTimeout as delay } from 'node:timers/promises'
import { say } from './scene.js'

/** Like systemd's RestartSec, ms. */
const RESTART = 100

/**
 * Supervises a cluster: starts it again whenever it has ended, until the test ends.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {(t: { after: (stop: () => unknown) => void }) => ReturnType<typeof
 *   import('../helpers/cluster.js').startCluster>} start rejects when the cluster does not become ready
 */
export async function supervise (t, start) {
  // no cleanup per cluster: t.after stops the current one
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
          say(`restarted at attempt ${tries}`)
          return watch()
        } catch {
          // remains of the previous cluster may still be in the way
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
    /** @returns {Promise<void>} resolves when the killed cluster is replaced */
    restarted: () => restarted
  }
}
