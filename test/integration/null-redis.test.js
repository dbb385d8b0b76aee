import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { createNullRedis } from '../../src/gateway/rehearsal/null-redis.js'
import { createRedisSessions } from '../../src/people/sessions/redis-sessions.js'

const scenes = [
  { name: 'like a real one, with services', urlsOf: () => [redisUrl()], services: true },
  { name: 'like a real one, without services', urlsOf: () => [redisUrl()], services: false },
  { name: 'like Redis Cluster', urlsOf: () => redisClusterUrl().split(','), services: true }
]
for (const { name, urlsOf, services } of scenes) {
  test(`the null Redis answers a lone worker ${name}`, async (t) => {
    const { log } = recordingLog()
    const urls = urlsOf()
    const real = testRedis({ urls, name: 'test', log })
    await real.start()
    t.after(() => real.stop())
    const nothing = createNullRedis({ urls, log, clock: systemClock, random: systemRandom })
    const id = randomUUID()
    /** @type {import('../../src/people/sessions/contract.js').HoldingChange[][]} */
    const steps = [
      [
        { uid: id, guid: undefined, op: '+', told: '' },
        { uid: id, guid: id, op: '+', told: '' },
        { uid: undefined, guid: id, op: '+', told: '1' }
      ],
      [
        { uid: id, guid: undefined, op: '=', told: '1' },
        { uid: id, guid: id, op: '=', told: '1' },
        { uid: undefined, guid: id, op: '+', told: '1' }
      ],
      [
        { uid: id, guid: id, op: '-', told: '' },
        { uid: undefined, guid: id, op: '-', told: '' },
        { uid: id, guid: undefined, op: '-', told: '' }
      ],
      [
        { uid: id, guid: id, op: '=', told: '0' },
        { uid: undefined, guid: id, op: '=', told: '0' },
        { uid: id, guid: undefined, op: '=', told: '0' }
      ]
    ]
    const answersOf = async (/** @type {import('../../src/redis/client.js').RedisConnection} */ redis) => {
      const store = createRedisSessions({ redis, services })
      const answers = []
      for (const step of steps) answers.push(await store.hold('1.1', step))
      return answers
    }
    const answers = await answersOf(nothing)
    assert.deepEqual(answers, await answersOf(real))
    assert.deepEqual(answers.flat().filter((answer) => answer !== '').length, services ? 5 : 0)
  })
}
