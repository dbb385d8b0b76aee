import assert from 'node:assert/strict'
import { test } from 'node:test'
import { epochEndIn } from '../../../src/kafka/kafkajs/leader-epochs.js'
import { createLostEnds } from '../../../src/kafka/lost-ends.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** @param {(epoch: number) => number | undefined} endOf the broker's response */
function lostEnds (endOf) {
  /** @type {number[]} */
  const asked = []
  /** @type {number[]} */
  const lost = []
  const ends = createLostEnds({
    kafka: {
      epochEnd: async ({ epoch }) => {
        asked.push(epoch)
        return endOf(epoch)
      }
    },
    topic: 't',
    onLostEnd: (partition) => { lost.push(partition) },
    log: recordingLog().log
  })
  /** @param {number} offset @param {number} leaderEpoch */
  const find = (offset, leaderEpoch) => {
    const messages = [/** @type {any} */ ({ offset: String(offset), batchContext: { leaderEpoch } })]
    return ends.find({ partition: 3, highWatermark: 100, from: offset, end: offset + 1, messages })
  }
  return { ends, find, asked, lost }
}

test('the broker is queried only when another leader wrote the next record, or offsets go back', async () => {
  const { ends, find, asked, lost } = lostEnds(() => 20)
  assert.equal(await find(0, 4), undefined, 'no record was read before')
  ends.done(3, { next: 20, epoch: 4 })
  assert.equal(await find(20, 4), undefined)
  assert.equal(await find(25, 4), undefined, 'compacted')
  assert.deepEqual(asked, [])
  assert.equal(await find(20, 5), undefined, 'an ordinary change of the leader')
  assert.equal(await find(7, 4), undefined, 'offsets were reset')
  assert.deepEqual([asked, lost], [[4, 4], []])
})

test('reading goes back to the current end of the last record\'s leader, and this is reported once', async () => {
  const { ends, find, asked, lost } = lostEnds(() => 11)
  ends.reset(new Map([[3, { next: 20, epoch: 4 }]]))
  assert.equal(await find(20, 6), 11, 'the new end has passed the old one already')
  assert.deepEqual(lost, [3])
  assert.equal(await find(11, 6), undefined, 'reading went back to it')
  ends.done(3, { next: 12, epoch: 6 })
  assert.equal(await find(12, 6), undefined)
  assert.deepEqual([asked, lost], [[4, 4], [3]])
})

test('without a response of the brokers, or for records that kafkajs read, no loss is assumed', async () => {
  const { ends, find, asked } = lostEnds(() => undefined)
  ends.done(3, { next: 20, epoch: 4 })
  assert.equal(await find(0, 5), undefined)
  ends.done(3, { next: 20, epoch: undefined })
  assert.equal(await find(0, 5), undefined)
  assert.equal(await find(0, -1), undefined)
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
