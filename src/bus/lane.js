import { laneOf } from '../wire/publication.js'

/**
 * Where a batch goes; all of it to the same place, because a bus keeps the order within a lane only.
 *
 * @param {import('./contract.js').Entry[]} entries at least one
 * @returns {import('../wire/publication.js').Publication} the first one: its target is everyone's
 * @throws {TypeError} entries of several lanes, which is a mistake of the caller
 */
export function oneLane (entries) {
  const first = entries[0].publication
  if (entries.length > 1) {
    const lane = laneOf(first)
    for (const { publication } of entries) {
      if (laneOf(publication) !== lane) throw new TypeError('publish: entries of several lanes in one batch')
    }
  }
  return first
}
