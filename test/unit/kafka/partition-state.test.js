import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { epochEndIn } from '../../../src/kafka/kafkajs/leader-epochs.js'
import { PartitionState } from '../../../src/kafka/partition-state.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * @param {(epoch: number) => number | undefined} endOf the broker's response
 * @param {boolean} [isSame] whether the topic is the same one
 */
function partitionState (endOf, isSame = true) {
  /** @type {(number | 'topic')[]} epochs of which the broker was asked for the end, and questions for the topic */
  const asked = []
  /** @type {number[]} */
  const lost = []
  /** @type {number[]} */
  const seeks = []
  const state = new PartitionState(3, {
    kafka: {
      epochEnd: async ({ epoch }) => {
        asked.push(epoch)
        return endOf(epoch)
      }
    },
    topic: 't',
    isSameTopic: async () => {
      asked.push('topic')
      return isSame
    },
    seek: (_partition, offset) => { seeks.push(offset) },
    onLostEnd: (partition) => { lost.push(partition) },
    log: recordingLog().log,
    clock: systemClock,
    random: systemRandom
  })
  /** @param {number} offset @param {number} leaderEpoch */
  const recordAt = (offset, leaderEpoch) =>
    /** @type {any} */ ({ offset: String(offset), batchContext: { leaderEpoch } })
  return {
    state, asked, lost, seeks,
    /** @param {number} offset @param {number} leaderEpoch */
    accepts: (offset, leaderEpoch, highWatermark = 100) =>
      state.accepts({ messages: [recordAt(offset, leaderEpoch)], highWatermark }),
    /** @param {number} offset of the last record that is done @param {number} leaderEpoch */
    done: (offset, leaderEpoch) => state.done(offset + 1, recordAt(offset, leaderEpoch))
  }
}

test('Kafka is asked only when another leader wrote the next record, or offsets or the end go back', async () => {
  const { accepts, done, asked, lost } = partitionState(() => 20)
  assert.equal(await accepts(0, 4), true, 'no record was read before')
  done(19, 4)
  assert.equal(await accepts(20, 4), true)
  assert.equal(await accepts(25, 4), true, 'compacted')
  assert.deepEqual(asked, [])
  assert.equal(await accepts(20, 5), true, 'an ordinary change of the leader')
  assert.equal(await accepts(7, 4), true, 'offsets were reset')
  assert.equal(await accepts(20, 4, 99), true, 'the end went back')
  assert.deepEqual([asked, lost], [[4, 'topic', 4, 'topic'], []])
})

test('a batch of a topic that was created again is not accepted, and reading does not go back in it', async () => {
  const { accepts, done, asked, seeks } = partitionState(() => 0, false)
  done(19, 4)
  assert.equal(await accepts(0, 0), false)
  assert.deepEqual([asked, seeks], [['topic'], []])
})

test('reading goes back to the current end of the last record\'s leader, and this is reported once', async () => {
  const { state, accepts, done, asked, lost, seeks } = partitionState(() => 11)
  state.reached = { next: 20, epoch: 4 }
  assert.equal(await accepts(20, 6), false, 'the new end has passed the old one already')
  assert.deepEqual([lost, seeks, state.next], [[3], [11], 11])
  assert.equal(await accepts(11, 6), true, 'reading went back to it')
  done(11, 6)
  assert.equal(await accepts(12, 6), true)
  assert.deepEqual([asked, lost], [[4, 4], [3]])
})

test('without a response of the brokers, or for records that kafkajs read, no loss is assumed', async () => {
  const { state, accepts, asked } = partitionState(() => undefined)
  state.reached = { next: 20, epoch: 4 }
  assert.equal(await accepts(0, 5), true)
  state.reached = { next: 20, epoch: undefined }
  assert.equal(await accepts(0, 5), true)
  assert.equal(await accepts(0, -1), true)
  assert.deepEqual(asked, [4])
})

test('a response of Kafka is parsed', () => {
  const response = (/** @type {number} */ code, /** @type {bigint} */ end) => {
    const bytes = Buffer.alloc(4 + 4 + 2 + 5 + 4 + 18)
    bytes.writeInt32BE(1, 4)
    bytes.writeInt16BE(5, 8)
    bytes.write('topic', 10)
    bytes.writeInt32BE(1, 15)
    bytes.writeInt16BE(code, 19)
    bytes.writeInt32BE(3, 21)
    bytes.writeInt32BE(4, 25)
    bytes.writeBigInt64BE(end, 29)
    return bytes
  }
  assert.equal(epochEndIn(response(0, 2n ** 40n)), 2 ** 40)
  assert.equal(epochEndIn(response(0, -1n)), undefined)
  assert.throws(() => epochEndIn(response(6, -1n)), /error 6/)
})
