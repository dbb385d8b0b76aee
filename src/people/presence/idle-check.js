import { checkIdle } from '../../base/common/idle-check.js'

/**
 * Finds lost presence diffs that no later diff follows: compares the quiet documents of a worker with the store. This
 * also detects that the store has lost its data.
 */

/** Each document is compared once per cycle, ms, up to 30,000 documents. */
export const CYCLE = 15_000
/** ms */
const TICK = 250

/**
 * @param {object} dependencies
 * @param {ReadonlyMap<string, import('./room.js').Room>} dependencies.rooms
 * @param {Pick<import('./contract.js').PresenceStore, 'versions'>} dependencies.store
 * @param {import('./room.js').RoomDependencies['gate']} dependencies.gate
 * @param {{ soon: boolean }} dependencies.wanted soon: compare all documents once, as soon as possible
 * @param {number} dependencies.cycle ms
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {AbortSignal} dependencies.signal ends it
 */
export function checkRooms ({ rooms, store, gate, wanted, cycle, clock, signal }) {
  /** @param {import('./room.js').Room} room @param {number | null} version of the store */
  function lookAgain (room, version) {
    if (rooms.get(room.guid) === room && room.quiet && room.version !== version) room.lose('silent')
  }

  return checkIdle({
    items: rooms,
    cycle,
    tick: TICK,
    wanted,
    clock,
    signal,
    isIdle: (room) => room.quiet,
    isOpen: () => gate.open,
    async compare (quiet) {
      try {
        const versions = await store.versions(quiet.map(({ guid }) => guid))
        const suspects = quiet.flatMap((room, i) =>
          room.quiet && room.version !== versions[i] ? [() => lookAgain(room, versions[i])] : []
        )
        gate.ok()
        return suspects
      } catch (error) {
        gate.failed('versions', error)
        wanted.soon = true
        return []
      }
    }
  })
}
