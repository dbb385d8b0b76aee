/**
 * Finds lost presence diffs that no later diff follows: compares the quiet documents of a worker with the store, one
 * cycle after the other. This also detects that the store has lost its data.
 */

/** Each document is compared once per cycle, ms, up to MAX_BATCH * CYCLE / TICK documents. */
export const CYCLE = 15_000
/** A cycle's work is spread over ticks, ms. */
const TICK = 250
/** Documents compared in one tick. */
const MAX_BATCH = 500

/**
 * @param {object} dependencies
 * @param {ReadonlyMap<string, import('./room.js').Room>} dependencies.rooms
 * @param {Pick<import('./contract.js').PresenceStore, 'versions'>} dependencies.store
 * @param {import('./room.js').RoomDependencies['gate']} dependencies.gate
 * @param {{ soon: boolean }} dependencies.wanted soon: compare all documents once, as soon as possible
 * @param {number} dependencies.cycle ms
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {AbortSignal} dependencies.signal ends it
 */
export async function checkRooms ({ rooms, store, gate, wanted, cycle, clock, signal }) {
  // a map iterator continues at its place when entries are added or removed
  let round = rooms.values()
  /** Documents to compare in this tick; with few documents less than one in most ticks. */
  let turn = 0
  /** Documents left to compare after `wanted.soon`. */
  let hurry = 0
  /**
   * Rooms that differed at the last comparison; the missing diffs may have been on the way.
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
