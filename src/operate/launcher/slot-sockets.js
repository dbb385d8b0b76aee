import { lookup } from 'node:dns/promises'
import { bindTogether } from './reuse-port.js'

/**
 * One socket for each gateway slot, all at the same port, over which the system spreads connections evenly. The
 * launcher keeps them and never accepts: connections in a socket's queue outlive its worker. While a
 * slot has no worker, the worker of another slot stands in. Why: docs/internals/decisions/0004-accept-and-hang.md
 *
 * Exported for tests: the sockets of one port.
 *
 * @param {object} options
 * @param {string} options.host
 * @param {number} options.port
 * @param {string} [options.name] of the listener; absent: HOST and PORT
 * @param {import('./slot.js').Slot[]} options.slots
 */
export function createSlotSockets ({ host, port, name, slots }) {
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
        return child.send({ type: 'socket', listener: name, error: { message, code, address, port } })
      }
      child.send({ type: 'socket', listener: name }, sockets[child.slot])
    },

    /** Call it when a slot has got or lost its worker. */
    cover () {
      if (sockets === undefined) return
      const serving = slots.map(({ serving: child }) => child?.accepting ? child : undefined)
      for (const [slot, child] of standIns) {
        if (serving[slot] === undefined && serving.includes(child)) continue
        standIns.delete(slot)
        child.send({ type: 'stand-down', listener: name, slot })
      }
      /** @param {import('./child.js').Child} child */
      const duties = (child) => [...standIns.values()].filter((standIn) => standIn === child).length
      for (const [slot, socket] of sockets.entries()) {
        if (serving[slot] !== undefined || standIns.has(slot)) continue
        const [child] = serving.filter((child) => child !== undefined).sort((a, b) => duties(a) - duties(b))
        // connections wait for the first worker that restarts
        if (child === undefined) return
        standIns.set(slot, child)
        child.send({ type: 'stand-in', listener: name, slot }, socket)
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

/**
 * The sockets of all ports of the gateway: PORT, and those of listeners with ports of their own.
 *
 * @param {Pick<import('../../config/load.js').Config['gateway'], 'host' | 'port' | 'listeners'>} gateway
 * @param {import('./slot.js').Slot[]} slots
 */
export function createPortSockets ({ host, port, listeners }, slots) {
  /** By the name of the listener. */
  const all = new Map([[/** @type {string | undefined} */ (undefined), createSlotSockets({ host, port, slots })]])
  for (const { name, host, port } of listeners)
    if (host !== undefined && port !== undefined) all.set(name, createSlotSockets({ host, port, name, slots }))
  return {
    /** @throws {Error} if a host has no address */
    async start () { for (const sockets of all.values()) await sockets.start() },

    /**
     * Answers a worker that wants to listen.
     * @param {import('./child.js').Child} child
     * @param {string} [listener]
     */
    give (child, listener) {
      const sockets = all.get(listener)
      if (sockets !== undefined) return sockets.give(child)
      // its settings file has changed
      const message = `the listener ${listener} is new in LISTENERS: restart inkcast, a reload opens no port`
      child.send({ type: 'socket', listener, error: { message } })
    },

    /** Call it when a slot has got or lost its worker. */
    cover () { for (const sockets of all.values()) sockets.cover() },

    /** From now on a socket is closed when its worker closes it. */
    stop () { for (const sockets of all.values()) sockets.stop() }
  }
}
