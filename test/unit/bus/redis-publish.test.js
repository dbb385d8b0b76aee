import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { decodeDirect, decodeRecord, encodeDirect } from '../../../src/log/bus/redis-payload.js'
import { RedisPublish } from '../../../src/log/bus/redis-publish.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { toInkcastError } from '../../../src/redis/errors.js'
import { encodeEnvelope } from '../../../src/wire/envelope.js'
import { entry, plain, publication, range } from '../../contract/bus-fixture.js'
import { createKeys } from '../../../src/redis/keys.js'

const history = { size: 10, ttl: 60 }

describe('publish over redis', () => {
  test('limits pending publications', async () => {
    /** @type {(() => void)[]} */
    const answers = []
    const redis = /** @type {any} */ ({
      afterMove: (/** @type {string} */ _, /** @type {(move: string) => unknown} */ call) => call(''),
      keys: createKeys(),
      scripts: {
        publish: (/** @type {string[]} */ _keys, /** @type {any[]} */ args) =>
          new Promise((resolve) => {
            answers.push(() => resolve(['e', ...range((args.length - 11) / 6, 1)]))
          })
      }
    })
    const publisher = new RedisPublish({ redis, historyOf: () => history, clock: systemClock, random: systemRandom })
    /** @type {RedisPublish['publish']} */
    const publish = (entries) => publisher.publish(entries)
    const value = Buffer.alloc(2 ** 24)
    const waiting = range(3).map((i) => publish([entry(`d${i}`, 0, { value })]))
    await assert.rejects(publish([entry('d3', 0, { value })]), { code: 'unavailable' })
    const small = publish([entry('d4', 0)])
    for (const answer of answers.splice(0)) answer()
    await Promise.all([...waiting, small])
    const next = publish([entry('d3', 0, { value })])
    answers[0]()
    assert.equal((await next)[0].position?.offset, 1)
  })

  test('stops a long batch at the first call that fails', async () => {
    /** @type {number[]} */
    const calls = []
    const redis = /** @type {any} */ ({
      afterMove: (/** @type {string} */ _, /** @type {(move: string) => unknown} */ call) => call(''),
      keys: createKeys(),
      scripts: {
        publish: async (/** @type {string[]} */ _keys, /** @type {any[]} */ args) => {
          const count = (args.length - 11) / 6
          calls.push(count)
          if (calls.length === 2) throw new Error('lost')
          return ['e', ...range(count, 1)]
        }
      }
    })
    const publisher = new RedisPublish({ redis, historyOf: () => history, clock: systemClock, random: systemRandom })
    /** @type {RedisPublish['publish']} */
    const publish = (entries) => publisher.publish(entries)
    // the first 256 are published
    await assert.rejects(publish(range(600).map((i) => entry('d', i))), { code: 'timeout' })
    assert.deepEqual(calls, [256, 256])
  })

  test('the outcome is unknown if a record is in the log of its user and does not go to the workers', async () => {
    for (const [result, code] of /** @type {const} */ ([['1', 'timeout'], ['', 'unavailable']])) {
      const redis = /** @type {any} */ ({
        afterMove: (/** @type {string} */ _, /** @type {(move: string) => unknown} */ call) => call(''),
        keys: createKeys(),
        scripts: {
          async publish () {
            if (result === '') throw new Error('redis does not answer')
            return ['e', Number(result)]
          }
        },
        client: {
          zrange: async () => ['1'],
          async spublish () { throw new Error('redis does not answer') }
        }
      })
      const publisher = new RedisPublish({ redis, historyOf: () => history, clock: systemClock, random: systemRandom })
      /** @type {RedisPublish['publish']} */
      const publish = (entries) => publisher.publish(entries)
      await assert.rejects(
        publish([{ publication: publication({ operator: 'user', uid: 'u', keep: true }) }]),
        (error) => toInkcastError(error).code === code
      )
    }
  })

  test('cuts a batch by its bytes as well', async () => {
    /** @type {number[]} */
    const calls = []
    const redis = /** @type {any} */ ({
      afterMove: (/** @type {string} */ _, /** @type {(move: string) => unknown} */ call) => call(''),
      keys: createKeys(),
      scripts: {
        publish: async (/** @type {string[]} */ _keys, /** @type {any[]} */ args) => {
          const count = (args.length - 11) / 6
          calls.push(count)
          return ['e', ...range(count, 1)]
        }
      }
    })
    const publisher = new RedisPublish({ redis, historyOf: () => history, clock: systemClock, random: systemRandom })
    /** @type {RedisPublish['publish']} */
    const publish = (entries) => publisher.publish(entries)
    await publish(range(5).map(() => entry('d', 0, { value: Buffer.alloc(1.5 * 2 ** 20) })))
    assert.deepEqual(calls, [2, 2, 1])
    await publish([entry('d', 0, { value: Buffer.alloc(9 * 2 ** 20) })])
    assert.deepEqual(calls, [2, 2, 1, 1])
  })
})

describe('messages of redis', () => {
  test('a record keeps its place, up to the largest offset', () => {
    const sent = publication({ guid: 'g', value: Buffer.from('1:2:3') })
    const envelope = encodeEnvelope(sent, 5, systemRandom)
    for (const [place, epoch, offset] of /** @type {[string, string, number][]} */ ([
      ['ab-_:12:', 'ab-_', 12],
      [':0:', '', 0],
      [`e:${Number.MAX_SAFE_INTEGER}:`, 'e', Number.MAX_SAFE_INTEGER]
    ])) {
      const record = decodeRecord(Buffer.concat([Buffer.from(place), envelope]))
      assert.deepEqual(plain(record), plain({ epoch, offset, publication: sent, ingestedAt: 5 }))
    }
  })

  test('a worker gets several envelopes in one', () => {
    const sent = range(3).map((i) => publication({ operator: 'user', uid: `u${i}`, value: Buffer.alloc(i) }))
    assert.deepEqual(
      plain(
        decodeDirect(encodeDirect(sent.map((each) => encodeEnvelope(each, 1, systemRandom))))
          .map(({ publication }) => publication)
      ),
      plain(sent)
    )
    assert.deepEqual(decodeDirect(Buffer.alloc(0)), [])
  })
})
