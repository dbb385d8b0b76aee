/** Bytes that the kernels take for a page before the gateway has to queue. */
const WINDOW = 1024
/** Settings of gateways that queue little for each page. */
export const SLOW_SETTINGS = { MAX_WAITING_BYTES: '2048' }
/** Between two pages that read nothing, and for how long they do, ms. */
const [NEXT, PAUSE] = [1200, 1500]

/** @typedef {import('../scenario.js').Traffic} Traffic */

/**
 * Pages that read nothing for a while, and then get from the log what they missed.
 * @implements {Traffic}
 */
export class SlowPages {
  #pauses = 0

  /**
   * @param {import('../world/world.js').World} world
   * @param {import('./tabs.js').Tabs} tabs
   * @param {import('../world/random.js').SeededRandom} drawn
   */
  constructor (world, tabs, drawn) {
    this.world = world
    this.tabs = tabs
    this.drawn = drawn
    world.network.clientWindow = WINDOW
  }

  /** @param {number} until */
  begin (until) {
    const { world, tabs, drawn } = this
    const next = () => {
      if (world.time >= until) return
      world.schedule(drawn.duration(NEXT), 'a slow page', next, null)
      const pages = tabs.open.filter(({ process }) => !process.isPaused)
      if (pages.length === 0) return
      drawn.pick(pages).process.pause(drawn.duration(PAUSE))
      this.#pauses++
    }
    world.schedule(drawn.duration(NEXT), 'a slow page', next, null)
  }

  missing () { return undefined }

  counts () { return { 'pauses of pages': this.#pauses } }
}
