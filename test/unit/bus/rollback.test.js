import assert from 'node:assert/strict'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { systemRandom } from '../../../src/common/random.js'
import { createRollback, hasLost } from '../../../src/bus/rollback.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** @param {{ epoch: string, offset: number }} end of the log when it is read */
function setUp (end) {
  /** @type {string[]} */
  const happened = []
  const rollback = createRollback({
    redis: {
      scripts: /** @type {any} */ ({
        reset: async (/** @type {string[]} */ _, /** @type {string[]} */ [epoch]) => {
          happened.push(`reset ${epoch}`)
          return 1
        }
      })
    },
    readEnd: async () => end,
    onReset: (guid) => happened.push(`compare ${guid}`),
    metrics: /** @type {any} */ ({ bus_errors: { inc () {} } }),
    log: recordingLog().log,
    random: systemRandom
  })
  /** @param {number} offset @param {string} [epoch] */
  const live = (offset, epoch = 'e1') =>
    rollback.accepts(/** @type {any} */ ({ publication: { operator: 'broadcast', guid: 'doc' }, epoch, offset }))
  return { rollback, live, happened }
}

describe('a log that has lost records', () => {
  test('is reset when an offset arrives live a second time, and only once', async () => {
    const { rollback, live, happened } = setUp({ epoch: 'e2', offset: 0 })
    assert.equal(live(1), false, 'records of an unsubscribed document are not delivered')
    rollback.subscribe('doc')
    assert.deepEqual([live(1), live(2), live(3)], [true, true, true])
    assert.deepEqual([live(2), live(3)], [false, false])
    await endOfTurn()
    assert.deepEqual(happened, ['reset e1', 'compare doc'])
    assert.equal(live(1, 'e2'), true)
    assert.equal(live(0, ''), true, 'ephemeral records have no offset')
  })

  test('is detected when its end is before a live record or before an end that was read', () => {
    const { rollback, live } = setUp({ epoch: 'e1', offset: 0 })
    assert.equal(hasLost({ epoch: 'e1', offset: 1 }, rollback.knownOf('doc')), false, 'no end is known')
    rollback.subscribe('doc')
    live(3)
    const lost = (/** @type {number} */ offset, epoch = 'e1') => hasLost({ epoch, offset }, rollback.knownOf('doc'))
    assert.deepEqual([lost(2), lost(3), lost(4), lost(1, 'e2')], [true, false, false, false])
    rollback.note('doc', { epoch: 'e1', offset: 5 })
    assert.deepEqual([lost(4), lost(5)], [true, false])
    rollback.note('doc', { epoch: 'e1', offset: 4 })
    assert.equal(lost(4), true, 'the furthest end counts')
  })

  test('is checked when an offset arrives that is below an end that was read', async () => {
    for (const [end, expected] of /** @type {const} */ ([
      [{ epoch: 'e1', offset: 5 }, []],
      [{ epoch: 'e2', offset: 0 }, ['compare doc']]
    ])) {
      const { rollback, live, happened } = setUp(end)
      rollback.subscribe('doc')
      rollback.note('doc', { epoch: 'e1', offset: 5 })
      assert.equal(live(4), true)
      await endOfTurn()
      assert.deepEqual(happened, expected)
    }
  })

  test('is remembered through a new subscription, and forgotten when the document is left', () => {
    const { rollback, live } = setUp({ epoch: 'e1', offset: 0 })
    const first = rollback.subscribe('doc')
    live(3)
    const second = rollback.subscribe('doc')
    assert.equal(rollback.unsubscribe('doc', first), false, 'another subscription has taken its place')
    assert.equal(rollback.knownOf('doc')?.offset, 3)
    assert.equal(rollback.unsubscribe('doc', second), true)
    assert.equal(rollback.unsubscribe('doc'), false)
    assert.deepEqual([...rollback.guids()], [])
  })
})
