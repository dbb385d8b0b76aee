import { lookup } from 'node:dns/promises'
import { bindTogether } from './reuse-port.js'

/**
 * One socket for each gateway slot, all at the same port, over which the system spreads connections evenly. The
 * launcher keeps them and never accepts: connections in a socket's queue outlive its worker. While a
 * slot has no worker, the worker of another slot stands in. Why: docs/internals/decisions/0004-accept-and-hang.md
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
  /** The worker that stands in at the socket of a slot. @type {Map<number, import('./child.js').Child>} */
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
        // only when a worker listens: a port that is only bound does not look taken
        sockets ??= bindTogether(address, port, slots.length)
      } catch (error) {
        const { message, code, address, port } = /** @type {any} */ (error)
        return child.send({ type: 'socket', error: { message, code, address, port } })
      }
      child.send({ type: 'socket' }, sockets[child.slot])
    },

    /** Call it when a slot has got or lost its worker. */
    cover () {
      if (sockets === undefined) return
      const serving = slots.map(({ serving: child }) => child?.accepting ? child : undefined)
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
        // connections wait for the first worker that restarts
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
