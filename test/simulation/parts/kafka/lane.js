/** One direction of a connection between a process and the broker: nothing overtakes, also when a partition ends. */
export class Lane {
  #until = 0
  /** @type {(() => void)[]} */
  #underway = []

  /** @param {import('../broker.js').Broker} broker @param {import('../../world/sim-process.js').SimProcess} process */
  constructor (broker, process) {
    this.broker = broker
    this.process = process
  }

  /**
   * @param {string} kind for the trace
   * @param {import('../../world/sim-process.js').SimProcess} to
   * @param {() => void} deliver in a turn of the receiver
   */
  send (kind, to, deliver) {
    const { broker, process } = this
    const { world } = broker
    this.#until = Math.max(this.#until, world.time + broker.latency(process))
    this.#underway.push(deliver)
    const arrive = () => {
      if (!this.#underway.includes(deliver)) return
      const wait = world.network.blockedUntil(process, broker.process) - world.time
      if (wait > 0) return void world.schedule(wait, kind, arrive, to)
      for (let next = this.#underway.shift(); next !== undefined; next = this.#underway.shift()) {
        next()
        if (next === deliver) return
      }
    }
    world.schedule(this.#until - world.time, kind, arrive, to)
  }
}
