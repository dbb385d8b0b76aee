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

/** @param {{ maxPerUser?: number, tenants?: any, addUser?: () => Promise<void>, login?: any }} [parts] */
function start ({ maxPerUser = 0, tenants, addUser = async () => {}, login = { endedBy: () => false } } = {}) {
  const clock = manualClock()
  const metrics = createMetrics({ processMetrics: false })
  const orders = new Orders(clock)
  const users = new LocalUsers({
    bus: { addUser, removeUser: async () => {} }, tenants, orders, rates, metrics, log: recordingLog().log, clock
  })
  const owners = new SessionOwners({
    users, directory: /** @type {any} */ ({ user: () => [] }), maxPerUser, metrics,
    rights: { mayAct: () => true, access: /** @type {any} */ ({ isBanned: () => false, orders }), login }
  })
  const socket = () => /** @type {any} */ ({ conn: { readyState: 'open' } })
  const identity = (/** @type {string} */ uid) => /** @type {any} */ ({ uid })
  /** @param {string} uid @returns {Promise<string>} the code of the refusal, or `ok` */
  const register = (uid) => owners.register(socket(), identity(uid)).then(() => 'ok', ({ code }) => code)
  return { users, orders, register }
}

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
