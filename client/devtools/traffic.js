import { clock } from '../common/clock.js'

/**
 * What a document sends, and which calls have no answer yet. The client does not count this, because only the devtools
 * need it: its memberships are wrapped while the panel is open.
 *
 * @typedef {import('../document/membership.js').Membership} Membership
 */

/**
 * @typedef {object} Traffic of one document, since the panel was opened
 * @property {{ sent: number, dropped: number }} signals
 * @property {Set<{ event: string, since: number }>} calls that wait, first for the join, then for the answer
 */

/** @param {Membership} membership @returns {{ traffic: Traffic, stop: () => void }} */
function watch (membership) {
  const traffic = { signals: { sent: 0, dropped: 0 }, calls: new Set() }
  const { tell, ask, request, signal } = membership
  membership.tell = (event, argument) => {
    tell.call(membership, event, argument)
    if (event === 'doc:signal') traffic.signals.sent++
  }
  membership.ask = (event, argument, timeout) => {
    if (event === 'doc:signal') traffic.signals.sent++
    return ask.call(membership, event, argument, timeout)
  }
  membership.signal = (...args) => {
    const accepted = signal.apply(membership, args)
    if (!accepted) traffic.signals.dropped++
    return accepted
  }
  membership.request = async (event, ...args) => {
    const call = { event, since: clock.monotonic() }
    traffic.calls.add(call)
    try {
      return await request.call(membership, event, ...args)
    } finally {
      traffic.calls.delete(call)
    }
  }
  return {
    traffic,
    stop () {
      Object.assign(membership, { tell, ask, request, signal })
    }
  }
}

/** @param {import('../client.js').Client} client */
export function createTraffic (client) {
  /** @type {Map<Membership, ReturnType<typeof watch>>} */
  const watched = new Map()
  return {
    /** Watches documents that were opened, and forgets closed ones. @returns {Map<string, Traffic>} by guid */
    read () {
      const memberships = new Set(client._memberships.values())
      for (const membership of watched.keys()) if (!memberships.has(membership)) watched.delete(membership)
      /** @type {Map<string, Traffic>} */
      const traffics = new Map()
      for (const membership of memberships) {
        let watching = watched.get(membership)
        if (watching === undefined) watched.set(membership, watching = watch(membership))
        traffics.set(membership.guid, watching.traffic)
      }
      return traffics
    },
    stop () {
      for (const { stop } of watched.values()) stop()
      watched.clear()
    }
  }
}
