import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { Standing } from '../../../src/people/workers/standing.js'
import { WorkerLease, LEASE_TIME } from '../../../src/people/workers/worker-lease.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { seededRandom } from '../../helpers/random.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { createKeys } from '../../../src/redis/keys.js'

/** As log/bus/registry.js: how long publishers wait for a worker that is missing after a loss of data, ms. */
const MISSING = 13_000
const SCHEDULES = 150
const STEPS = 30

/** Redis, the publishers of orders and one worker with one user, as far as orders and the lease are concerned. */
class Model {
  clock = manualClock()
  isCut = false
  #owner = false
  #expiry = -Infinity
  #incarnation = ''
  #isSettling = false
  #isRegistered = true
  /** Of the data, and how many restarts that is. */
  #names = 1
  #named = 1
  #lostAt = -Infinity
  #orders = 0
  /** Accepted orders that the worker does not know. @type {Set<number>} */
  missed = new Set()

  /** @param {() => number} drawn */
  constructor (drawn) {
    this.drawn = drawn
    this.clock.every(1000, () => this.#watch())
  }

  /** worker-watch.js of another worker */
  #watch () { if (this.#expiry <= this.clock.monotonic()) this.#incarnation = '' }

  /**
   * @template T
   * @param {() => T} run in Redis
   * @returns {Promise<T>} the answer may be late
   */
  async #call (run) {
    const { clock, drawn } = this
    const late = () => clock.sleep(drawn() < 0.1 ? drawn() * 12_000 : drawn() * 20)
    await late()
    if (this.isCut) throw new Error('cut off')
    const answer = run()
    await late()
    if (this.isCut) throw new Error('cut off')
    return answer
  }

  scripts = {
    slot: async () => null,
    claim: () => this.#call(() => {
      this.#owner = true
      this.#expiry = this.clock.monotonic() + LEASE_TIME
      return [1, this.#incarnation = '1']
    }),
    renew: (/** @type {unknown} */ _, /** @type {any[]} */ [, , duration, , secret, incarnation, settling, known]) =>
      this.#call(() => {
        const name = this.#name()
        const isLost = !this.#owner || (known !== '' && known !== name)
        if (!this.#owner) this.#incarnation = String(incarnation)
        else this.#incarnation ||= String(Number(incarnation) + 1)
        this.#owner = true
        this.#expiry = this.clock.monotonic() + duration
        this.#isSettling = settling === '1' || (settling === '?' && isLost)
        return [secret, this.#incarnation, isLost ? 1 : 0, this.clock.now(), name]
      })
  }

  catchUp = () => this.#call(() => {
    this.#isRegistered = true
    this.missed.clear()
  })

  /** As include/data_name.lua. */
  #name () {
    if (this.#named !== this.#names) this.#isSettling = this.#incarnation !== ''
    return String(this.#named = this.#names)
  }

  /** Redis begins again with its data, but without the last registration. */
  restart () {
    this.#names++
    this.#isRegistered = false
  }

  /** FLUSHALL */
  lose () {
    this.#named = ++this.#names
    this.#owner = this.#isSettling = this.#isRegistered = false
    this.#expiry = -Infinity
    this.#incarnation = ''
    this.#lostAt = this.clock.monotonic()
  }

  /** As log/bus/redis-orders.js. @returns {boolean} whether it is accepted */
  order () {
    const now = this.clock.monotonic()
    this.#name()
    if (this.#isSettling || (!this.#owner && now - this.#lostAt < MISSING)) return false
    if (this.#isRegistered && this.#expiry > now) return !this.isCut // carried out, or not confirmed
    this.missed.add(this.#orders++)
    return true
  }
}

/** @param {number} seed */
async function play (seed) {
  const drawn = seededRandom(seed)
  const model = new Model(drawn)
  const { clock } = model
  const { log } = recordingLog()
  const lease = new WorkerLease({
    redis: /** @type {any} */ ({
      keys: createKeys(), scripts: model.scripts, onBack () {}, lost () {}, hasLost: async () => false
    }),
    slot: 'slot', address: { machine: 'here', pid: 1, path: '/run/x' }, onLost: () => {}, log, clock, random: systemRandom
  })
  const standing = new Standing({ lease, catchUp: model.catchUp, log, clock, random: systemRandom })
  lease.onUnsure((hadEnded) => { hadEnded ? standing.missed() : standing.lost() })
  lease.onReborn(() => standing.missed())
  const started = lease.start()
  await clock.pass(40_000)
  await started
  await clock.pass(40_000)
  const counts = { missed: 0, bad: 0 }
  const look = () => { if (model.missed.size > 0 && standing.good) counts.bad++ }
  clock.every(50, look)
  for (let step = 0; step < STEPS; step++) {
    const what = drawn()
    if (what < 0.15) model.isCut = !model.isCut
    else if (what < 0.2) model.lose()
    else if (what < 0.25) model.restart()
    else if (what < 0.75) model.order()
    if (model.missed.size > 0) counts.missed++
    look()
    await clock.pass(drawn() * 4000)
  }
  model.isCut = false
  for (let tries = 0; tries < 20 && !standing.good; tries++) await clock.pass(10_000)
  assert.equal(standing.good, true, `schedule ${seed}: the worker acts again`)
  assert.equal(model.missed.size, 0, `schedule ${seed}`)
  standing.stop()
  return counts
}

test('a worker acts only while no order can have been accepted without it, also when Redis has lost its data', async () => {
  let missed = 0
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const counts = await play(seed)
    missed += counts.missed
    assert.equal(counts.bad, 0, `schedule ${seed}: it acts without orders that were accepted`)
  }
  assert.ok(missed > SCHEDULES, `orders were missed: ${missed}`)
})
