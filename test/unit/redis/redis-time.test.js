import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RedisTime } from '../../../src/redis/redis-time.js'
import { seededRandom } from '../../helpers/random.js'

/** Any time of Redis, ms since 1970. */
const START = 1_700_000_000_000

/** A clock of this process and one of Redis, which is set now and then. */
function clocks () {
  let passed = 5000
  let redis = START
  const time = new RedisTime({ monotonic: () => passed })
  return {
    time,
    /** @param {number} ms */
    pass (ms) {
      passed += ms
      redis += ms
    },
    /** @param {number} ms */
    step (ms) { redis += ms },
    redis: () => redis,
    /** Asks for the time. @param {number} there ms until Redis has the command @param {number} back until its answer */
    ask (there, back) {
      const asked = passed
      this.pass(there)
      const answer = redis
      this.pass(back)
      return time.note(asked, answer)
    }
  }
}

test('of 2,000 answers exactly those after a step of the clock show one, however long an answer takes', () => {
  const random = seededRandom(7)
  const all = clocks()
  all.ask(1, 1)
  for (let i = 0; i < 2000; i++) {
    all.pass(random() * 10_000)
    const step = random() < 0.3 ? Math.round((random() < 0.5 ? -60_000 : 1_000_000) * (0.2 + 0.8 * random())) : 0
    all.step(step)
    // the longest answer before a command fails
    const [there, back] = [random() * 1500, random() * 1500]
    const seen = all.ask(there, back)
    assert.equal(Math.sign(seen), Math.sign(step), `${step}: ${seen}`)
    const behind = all.redis() - all.time.now()
    assert.ok(behind > -1e-3 && behind < back + 1e-3, `${behind} ms behind, and the answer took ${back}`)
    assert.ok(all.time.latest() > 0)
  }
})

test('the latest time never goes back, and before the first answer nothing has ended', () => {
  const all = clocks()
  assert.deepEqual([all.time.now(), all.time.latest()], [0, 0])
  all.ask(1, 1)
  const before = all.time.latest()
  all.step(-20_000)
  all.ask(1, 1)
  assert.ok(all.time.latest() >= before)
  assert.ok(all.time.now() < before - 15_000)
})
