import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LocalUsers } from '../../../src/gateway/local-users.js'
import { SessionOwners } from '../../../src/gateway/session-owners.js'
import { Orders } from '../../../src/log/bus/orders.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { ratesOf } from '../../../src/transport/admission/rate-limit.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const rates = ratesOf({ eventRates: { all: 10 }, maxBytesPerSecond: 1000, maxRecordBytes: 500 })
const settled = () => new Promise((resolve) => { setImmediate(resolve) })

/** @param {{ maxPerUser?: number, tenants?: any, addUser?: any, removeUser?: any, login?: any }} [parts] */
function start ({
  maxPerUser = 0, tenants, addUser = async () => {}, removeUser = async () => {}, login = { endedBy: () => false }
} = {}) {
  const clock = manualClock()
  const metrics = createMetrics({ processMetrics: false })
  const orders = new Orders(clock)
  const users = new LocalUsers({
    bus: { addUser, removeUser }, tenants, orders, rates, metrics, log: recordingLog().log, clock
  })
  const owners = new SessionOwners({
    users, directory: /** @type {any} */ ({ user: () => [] }), maxPerUser, metrics,
    rights: { mayAct: () => true, access: /** @type {any} */ ({ isBanned: () => false, orders }), login }
  })
  const socket = () => /** @type {any} */ ({ conn: { readyState: 'open' } })
  const identity = (/** @type {string} */ uid) => /** @type {any} */ ({ uid })
  /** @param {string} uid @returns {Promise<string>} the code of the refusal, or `ok` */
  const register = (uid) => owners.register(socket(), identity(uid)).then(() => 'ok', ({ code }) => code)
  return { users, owners, orders, register }
}

/** @param {string[]} all */
function numbers (all) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const one of all) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

test('handshakes of one user that wait for the budget of its tenant count for the limit of the user', async () => {
  /** @type {(() => void)[]} */
  const asked = []
  const tenants = {
    connected: () => new Promise((resolve) => { asked.push(() => resolve(undefined)) }),
    disconnected () {}
  }
  const { register, users } = start({ maxPerUser: 3, tenants })
  const all = Promise.all(Array.from({ length: 200 }, () => register('acme/eve')))
  await settled()
  assert.equal(asked.length, 3, 'the others take nothing of the budget')
  for (const answer of asked.splice(0)) answer()
  assert.deepEqual(numbers(await all), { ok: 3, too_many_connections: 197 })
  users.release('acme/eve')
  const next = register('acme/eve')
  asked[0]()
  assert.equal(await next, 'ok')
})

test('a handshake that the budget of its tenant refuses does not count for the limit of its user', async () => {
  const refusals = [new Error('full'), new Error('full'), undefined, undefined]
  const tenants = {
    connected: () => refusals[0] === undefined ? refusals.shift() : Promise.reject(refusals.shift()),
    disconnected () {}
  }
  const { register, users } = start({ maxPerUser: 1, tenants })
  assert.equal(await register('acme/ada'), undefined)
  assert.equal(await register('acme/ada'), undefined)
  assert.equal(users.count('acme/ada'), 0)
  assert.equal(await register('acme/ada'), 'ok')
  assert.equal(await register('acme/ada'), 'too_many_connections')
})

for (const [what, isAdmitted] of /** @type {const} */ ([['admitted', true], ['refused', false]])) {
  test(`a connection that ends before its tenant has ${what} it is released as often as it was counted`, async () => {
    /** @type {((isAdmitted: boolean) => void)[]} */
    const answers = []
    const { users, owners, register } = start({
      tenants: {
        connected: () => users.count('acme/ada') === 1 ? undefined : new Promise((resolve, reject) => {
          answers.push((admitted) => admitted ? resolve(undefined) : reject(new Error('full')))
        }),
        disconnected () {}
      }
    })
    assert.equal(await register('acme/ada'), 'ok')
    const connection = () => /** @type {any} */ ({ uid: 'acme/ada', giveUp: assert.fail })
    const [first, successor] = [connection(), connection()]
    owners.registers(first, users.register('acme/ada'))
    owners.passOn(first, successor)
    owners.release(successor)
    answers[0](isAdmitted)
    await settled()
    assert.equal(users.count('acme/ada'), 1)
  })
}

test('the bus has a user until the last connection has gone, also if that one was never admitted', async () => {
  /** @type {string[]} */
  const calls = []
  /** @type {((error: Error) => void)[]} */
  const refuse = []
  const { register, users } = start({
    tenants: {
      connected: () => calls.includes('add') ? new Promise((_, reject) => { refuse.push(reject) }) : undefined,
      disconnected () {}
    },
    addUser: async () => { calls.push('add') },
    removeUser: async () => { calls.push('remove') }
  })
  assert.equal(await register('acme/ada'), 'ok')
  const refused = register('acme/ada')
  users.release('acme/ada')
  assert.deepEqual([calls, users.has('acme/ada')], [['add'], true])
  refuse[0](new Error('full'))
  await refused
  assert.deepEqual([calls, users.has('acme/ada')], [['add', 'remove'], false])
})

test('a connection of a user that the bus could not take does not keep the next one from trying again', async () => {
  /** @type {(() => void)[]} */
  const admit = []
  let fails = true
  const { register } = start({
    tenants: {
      connected: () => new Promise((resolve) => { admit.push(() => resolve(undefined)) }),
      disconnected () {}
    },
    addUser: async () => { if (fails) throw Object.assign(new Error('no answer'), { code: 'unavailable' }) }
  })
  const [first, second] = [register('acme/ada'), register('acme/ada')]
  admit[0]()
  assert.equal(await first, 'unavailable')
  fails = false
  admit[1]()
  assert.equal(await second, 'ok')
})

test('a kick that arrives while the user of a handshake is being registered refuses an older answer', async () => {
  /** @type {() => void} */
  let added = () => {}
  /** @type {unknown[][]} */
  const asked = []
  const { register, users, orders } = start({
    addUser: () => new Promise((resolve) => { added = () => resolve(undefined) }),
    login: {
      endedBy (/** @type {any} */ { uid }, /** @type {number} */ kickedAt) {
        asked.push([uid, kickedAt])
        return kickedAt > 0
      }
    }
  })
  const admitted = register('ada')
  await settled()
  assert.equal(orders.noteOrder({ operator: 'kick', uid: 'ada' }, 1000), true)
  added()
  assert.equal(await admitted, 'unavailable')
  assert.deepEqual([asked, users.has('ada')], [[['ada', 1000]], false])
})
