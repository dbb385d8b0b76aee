import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { Repair } from '../../../src/people/presence/repair.js'
import { manualClock } from '../../helpers/manual-clock.js'

test('a document whose version could not be read is not repaired, and a document whose version differs is', async () => {
  const clock = manualClock()
  /** @type {string[]} */
  const repaired = []
  const rooms = new Map(['behind', 'same', 'unread'].map((guid) => [guid, /** @type {any} */ ({
    guid,
    quiet: true,
    isAt: (/** @type {number | null | undefined} */ version) => version === 7,
    lose: () => { repaired.push(guid) }
  })]))
  const stopping = new AbortController()
  const repair = new Repair({
    rooms,
    roomOf: (guid) => rooms.get(guid),
    store: /** @type {any} */ ({
      versions: async (/** @type {string[]} */ guids) =>
        guids.map((guid) => ({ behind: 8, same: 7, unread: undefined })[guid]),
      documents: async () => []
    }),
    gate: { open: true, ok () {}, failed () {} },
    cycle: 1000,
    clock,
    random: systemRandom,
    signal: stopping.signal
  })
  repair.lost()
  const end = assert.rejects(repair.run())
  await clock.pass(600)
  assert.deepEqual(repaired, ['behind'])
  stopping.abort()
  await end
})
