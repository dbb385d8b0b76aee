/**
 * Finds what was missed of who is present while nothing follows it: compares the documents where nothing happens with
 * the store, round and round. So it is found as well that the store has lost what it had.
 */

/** Every document is looked at once in this time, ms, as long as there are no more than MAX_BATCH * CYCLE / TICK. */
export const CYCLE = 15_000
/** The work of a cycle is spread: so often a part of it, ms. */
const TICK = 250
/** Documents asked for in one tick. */
const MAX_BATCH = 500

/**
 * @param {object} dependencies
 * @param {ReadonlyMap<string, import('./room.js').Room>} dependencies.rooms
 * @param {Pick<import('./contract.js').PresenceStore, 'versions'>} dependencies.store
 * @param {import('./room.js').RoomDependencies['gate']} dependencies.gate
 * @param {{ soon: boolean }} dependencies.wanted soon: all of them are to be looked at as soon as may be, once
 * @param {number} dependencies.cycle ms
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {AbortSignal} dependencies.signal ends it
 */
export async function checkRooms ({ rooms, store, gate, wanted, cycle, clock, signal }) {
  // goes on where it was, however many are opened and closed meanwhile
  let round = rooms.values()
  /** How many may be looked at now: of few documents none in most ticks. */
  let turn = 0
  /** How many are left of those that are to be looked at soon. */
  let hurry = 0
  /**
   * Differed when they were last compared; what they lacked may have been on its way.
   * @type {{ room: import('./room.js').Room, version: number | null }[]}
   */
  let suspects = []

  function nextQuiet () {
    /** @type {import('./room.js').Room[]} */
    const quiet = []
    if (wanted.soon) {
      wanted.soon = false
      round = rooms.values()
      hurry = rooms.size
    }
    turn = Math.min(MAX_BATCH, hurry > 0 ? hurry : turn + rooms.size * TICK / cycle)
    for (; turn >= 1; turn--) {
      if (hurry > 0) hurry--
      const room = round.next().value ?? (round = rooms.values()).next().value
      if (room === undefined) break
      if (room.quiet) quiet.push(room)
    }
    return quiet
  }

  while (!signal.aborted) {
    await clock.sleep(TICK, signal)
    for (const { room, version } of suspects) {
      if (rooms.get(room.guid) === room && room.quiet && room.version !== version) room.lose('silent')
    }
    suspects = []
    if (!gate.open) continue
    const quiet = nextQuiet()
    if (quiet.length === 0) continue
    try {
      const versions = await store.versions(quiet.map(({ guid }) => guid))
      quiet.forEach((room, i) => {
        if (room.quiet && room.version !== versions[i]) suspects.push({ room, version: versions[i] })
      })
      gate.ok()
    } catch (error) {
      gate.failed('versions', error)
      wanted.soon = true
    }
  }
}
