import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LocalUsers } from '../../../src/gateway/local-users.js'
import { ratesOf } from '../../../src/transport/admission/rate-limit.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const rates = ratesOf({ eventRates: { all: 10 }, maxBytesPerSecond: 1000, maxRecordBytes: 500 })

function start () {
  const clock = manualClock()
  const users = new LocalUsers({
    bus: { addUser: async () => {}, removeUser: async () => {} },
    orders: /** @type {any} */ ({ forget () {} }),
    rates,
    metrics: /** @type {any} */ ({}),
    log: recordingLog().log,
    clock
  })
  /** @typedef {import('../../../src/transport/admission/user-budget.js').UserBudget} UserBudget */
  return {
    clock,
    /** @param {string} uid @param {(budget: UserBudget) => void} use @returns {Promise<UserBudget>} */
    async visit (uid, use) {
      await users.register(uid)
      const budget = users.budgetOf(uid)
      use(budget)
      users.release(uid)
      return budget
    }
  }
}

/** What a user may have used, and the seconds after which it is there again. */
const USES = /** @type {const} */ ([
  ['CPU time', 1, (/** @type {any} */ budget, /** @type {any} */ _clock) => budget.decoded(10)],
  ['bytes', 10, (/** @type {any} */ budget) => budget.received(rates, 5000)],
  ['some of its bytes', 0.5, (/** @type {any} */ budget) => budget.received(rates, 500)],
  ['events', 2, (/** @type {any} */ budget) => { while (budget.event()); }],
  ['some of its events', 0.2, (/** @type {any} */ budget) => { for (let i = 0; i < 10; i++) budget.event() }],
  ['documents', 10, (/** @type {any} */ budget, /** @type {any} */ clock) => budget.beginsSending(clock.monotonic())]
])

for (const [what, seconds, use] of USES) {
  test(`a user who has used ${what} and comes back has the same budget until it is full, also after others left`, async () => {
    const { clock, visit } = start()
    for (let i = 0; i < 100; i++) {
      const uid = `user-${i}`
      const before = await visit(uid, (budget) => use(budget, clock))
      await visit('another', () => {})
      assert.equal(await visit(uid, () => {}), before, 'at once')
      clock.advance(seconds * 1000 + 1)
      await visit('another', () => {})
      // otherwise the budgets of all who ever came would be kept
      assert.notEqual(await visit(uid, () => {}), before, `after ${seconds} s`)
    }
  })
}

test('a user whose budget takes long to fill does not keep the users that left after it', async () => {
  const { clock, visit } = start()
  const slow = await visit('slow', (budget) => budget.beginsSending(clock.monotonic()))
  const quick = await visit('quick', (budget) => budget.received(rates, 500))
  clock.advance(501)
  await visit('another', () => {})
  assert.notEqual(await visit('quick', () => {}), quick)
  assert.equal(await visit('slow', () => {}), slow)
})

test('a user who has used nothing is forgotten at once', async () => {
  const { visit } = start()
  const before = await visit('ada', () => {})
  assert.notEqual(await visit('ada', () => {}), before)
})
