import { createStore } from '../../../../src/store/store.js'

/**
 * @typedef {import('../../world/world.js').World} World
 * @typedef {import('../../../../src/store/store.js').Store} Store
 * @typedef {import('../../../../src/store/store.js').Snapshot} Snapshot
 */

export const PORT = 6379

/** A Redis on a machine of its own: the built-in store, as a process that ends and starts again. */
export class RedisServer {
  /** @type {import('../../world/sim-process.js').SimProcess} */
  process = /** @type {any} */ (undefined)
  /** Of this start. @type {Store} */
  store = /** @type {any} */ (undefined)

  /** @param {World} world @param {string} name of its machine, where clients connect to */
  constructor (world, name) {
    this.world = world
    this.name = name
    /** @type {import('../../world/sim-process.js').Machine} */
    this.machine = { name, step: 0 }
    /** When it has lost something that it had accepted, virtual ms. @type {number[]} */
    this.losses = []
    /** Each step of its wall clock, and how far the clock is from the true time after it. */
    this.steps = [{ at: -Infinity, offset: 0 }]
  }

  get isAlive () { return this.process.isAlive }
  get address () { return `${this.name}:${PORT}` }

  /** @param {Snapshot} [data] of the disk; default: none */
  start (data) {
    const process = this.process = this.world.process(this.name, this.machine)
    process.enter('start', () => {
      const { clock, random } = process
      const store = this.store = createStore({ clock, random })
      const { runId, replicationId } = store
      // as a real one: each start has ids of its own, also with the data of before
      if (data !== undefined) store.restore({ ...data, runId, replicationId })
      store.listen({ host: '0.0.0.0', port: PORT })
    })
  }

  /** Something that it had accepted is lost. */
  lost () { this.losses.push(this.world.time) }

  /** @param {number} ms by which its wall clock is set */
  setClock (ms) {
    this.machine.step += ms
    this.steps.push({ at: this.world.time, offset: this.machine.step })
  }

  /**
   * It is killed, and started again after a time.
   * @param {Snapshot | undefined} data that its disk has
   * @param {number} ms until it starts
   */
  restart (data, ms) {
    this.process.end(null)
    this.world.schedule(ms, 'Redis starts', () => { if (!this.isAlive) this.start(data) }, null)
  }
}
