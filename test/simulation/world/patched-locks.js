import { currentWorld } from './now.js'

/** While a world runs, the Web Locks of a browser are the world's: a page that ends gives back what it has. */

/** @typedef {import('./world.js').World} World */

/**
 * A page that has a name, or waits for it.
 * @typedef {{ page: import('./sim-process.js').SimProcess, grant: () => void }} Claim
 */

class Locks {
  /** The first claim of a name has it. @type {Map<string, Claim[]>} */
  #claims = new Map()

  /** @param {World} world */
  constructor (world) { this.world = world }

  /**
   * @param {string} name
   * @param {{ signal?: AbortSignal, ifAvailable?: boolean }} options
   * @param {(lock: object | null) => Promise<unknown>} run
   */
  request = (name, { signal, ifAvailable }, run) => new Promise((resolve, reject) => {
    const page = /** @type {import('./sim-process.js').SimProcess} */ (this.world.current)
    const claims = this.#claims.get(name) ?? []
    if (ifAvailable && claims.length > 0) return resolve(run(null))
    let isGranted = false
    /** @type {Claim} */
    const claim = {
      page,
      grant: () => {
        isGranted = true
        run({ name }).then(resolve, reject).finally(() => this.#release(name, claim))
      }
    }
    this.#claims.set(name, claims)
    claims.push(claim)
    page.onEnd(() => this.#release(name, claim))
    signal?.addEventListener('abort', () => {
      if (isGranted) return
      this.#release(name, claim)
      reject(signal.reason)
    })
    if (claims[0] === claim) claim.grant()
  })

  /** @param {string} name @param {Claim} claim */
  #release (name, claim) {
    const claims = this.#claims.get(name)
    const at = claims?.indexOf(claim) ?? -1
    if (claims === undefined || at === -1) return
    claims.splice(at, 1)
    const [next] = claims
    if (next === undefined) this.#claims.delete(name)
    else if (at === 0) this.world.schedule(1, 'lock', next.grant, next.page)
  }
}

/** @type {WeakMap<World, Locks>} */
const all = new WeakMap()

/** Node 20 has no such object. */
const global = /** @type {any} */ (globalThis)
global.navigator ??= {}
Object.defineProperty(global.navigator, 'locks', {
  configurable: true,
  get () {
    const world = currentWorld()
    if (world === undefined) return undefined
    let locks = all.get(world)
    if (locks === undefined) all.set(world, locks = new Locks(world))
    return locks
  }
})
