import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Healing } from '../../../src/ingest/healing.js'
import { recordingLog } from '../../helpers/recording-log.js'

const { signal } = new AbortController()

/** @param {number} age of the mark of record 9, which leader 1 has written, s */
function setUp (age) {
  /** @type {string[]} */
  const noted = []
  const look = (/** @type {any} */ state) => ({ generation: 'next', state, mark: '9.1', age })
  const healing = new Healing({
    store: {
      heals: true,
      look: async () => look(''),
      async note (_source, _generation, state) {
        noted.push(state)
        return look(state)
      }
    },
    consumer: {
      ends: async () => ({ low: 0, high: 30 }),
      committed: async () => 30,
      rewind: async () => {}
    },
    marks: { carriedOut () {} },
    clock: systemClock, random: systemRandom, log: recordingLog().log
  })
  /** @param {number} leaderEpoch of the leader that has written the records */
  const ready = (leaderEpoch) => healing.ready('t/0', /** @type {any} */ ({
    partition: 0, messages: [{ batchContext: { leaderEpoch } }], contiguous: true
  }), signal)
  return { noted, ready }
}

test('records that Redis lost are read again, until another leader has written some of them', async () => {
  const { noted, ready } = setUp(1)
  assert.deepEqual([await ready(1), await ready(1), noted], [false, true, ['begun']])
  assert.deepEqual([await ready(2), await ready(2), noted], [true, true, ['begun', 'failed']])
})

test('records behind a mark that is older than idempotency keys are not read again', async () => {
  const { noted, ready } = setUp(301)
  assert.deepEqual([await ready(1), noted], [true, ['failed']])
})
