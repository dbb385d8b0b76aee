import { lookup } from 'node:dns/promises'
import { bindTogether } from './reuse-port.js'

/**
 * One socket for each gateway slot, all at the same port, over which the system spreads connections evenly. The
 * launcher keeps them and never accepts: what waits at a socket outlives the worker that accepts from it. While nobody
 * serves a slot, the worker of another slot stands in. Why: docs/decisions/0004-direct-accept.md
 *
 * @param {object} options
 * @param {string} options.host
 * @param {number} options.port
 * @param {import('./slot.js').Slot[]} options.slots
 */
export function createSlotSockets ({ host, port, slots }) {
  let address = host
  /** Of the slots, in their order; bound when the first worker wants to listen. @type {any[] | undefined} */
  let sockets
  let stopped = false
  /** Who stands in at the socket of a slot. @type {Map<number, import('./child.js').Child>} */
  const standIns = new Map()

  return {
    /** @throws {Error} if HOST has no address */
    async start () {
      address = (await lookup(host)).address
    },

    /**
     * Answers a worker that wants to listen: with its slot's socket, or why there is none.
     * @param {import('./child.js').Child} child
     */
    give (child) {
      if (stopped) return
      try {
        // no earlier than it is listened on: a port that is bound only does not look taken
        sockets ??= bindTogether(address, port, slots.length)
      } catch (error) {
        const { message, code, address, port } = /** @type {any} */ (error)
        return child.send({ type: 'socket', error: { message, code, address, port } })
      }
      child.send({ type: 'socket' }, sockets[child.slot])
    },

    /** To be called when a slot has got or lost who serves it. */
    cover () {
      if (sockets === undefined) return
      const serving = slots.map((slot) => slot.serving)
      for (const [slot, child] of standIns) {
        if (serving[slot] === undefined && serving.includes(child)) continue
        standIns.delete(slot)
        child.send({ type: 'stand-down', slot })
      }
      /** @param {import('./child.js').Child} child */
      const duties = (child) => [...standIns.values()].filter((standIn) => standIn === child).length
      for (const [slot, socket] of sockets.entries()) {
        if (serving[slot] !== undefined || standIns.has(slot)) continue
        const [child] = serving.filter((child) => child !== undefined).sort((a, b) => duties(a) - duties(b))
        // they wait for the first that is started again
        if (child === undefined) return
        standIns.set(slot, child)
        child.send({ type: 'stand-in', slot }, socket)
      }
    },

    /** From now on a socket is closed when its worker closes it. */
    stop () {
      stopped = true
      for (const socket of sockets ?? []) socket.close()
      sockets = undefined
    }
  }
}
