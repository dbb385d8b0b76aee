import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { EARLY_MESSAGE, InputLimits } from '../../../src/transport/admission/input-limits.js'
import { kOwner } from '../../../src/transport/engine/link.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { manualClock } from '../../helpers/manual-clock.js'

const MAX_BYTES = 2 ** 20
const metrics = createMetrics({ processMetrics: false })
/** @type {import('../../helpers/manual-clock.js').ManualClock} */
let clock
/** @type {InputLimits} */
let inputLimits
/** @type {string[]} names of closed sessions, in order */
let ended

beforeEach(() => {
  clock = manualClock()
  inputLimits = new InputLimits({ maxBytes: MAX_BYTES, perSecond: 100 }, metrics, clock)
  ended = []
})

/** @param {string | number} name @param {number} [head] bytes @returns {any} a new session */
function begin (name, head = 500) {
  const session = {
    readyState: 'open',
    maxBytes: 0,
    terminate () {
      if (session.readyState === 'closed') return
      session.readyState = 'closed'
      ended.push(String(name))
      inputLimits.leave(session)
    }
  }
  inputLimits.enter(session, head)
  return session
}

/** @param {any} session @returns {any} the same, admitted */
function admit (session) {
  session[kOwner] = { giveUp: () => session.terminate() }
  inputLimits.admit(session)
  return session
}

async function figures () {
  await metrics.collect()
  const cut = (await metrics.sessions_cut.get()).values
  const bytes = (await metrics.unfinished_bytes.get()).values
  return {
    sessions: (await metrics.sessions_not_admitted.get()).values[0].value,
    early: bytes.find(({ labels }) => labels.clients === 'new')?.value,
    late: bytes.find(({ labels }) => labels.clients === 'admitted')?.value,
    cut: Object.fromEntries(cut.map(({ labels, value }) => [labels.reason, value]))
  }
}

describe('sessions whose clients are not admitted', () => {
  test('are two seconds\' worth at most: the oldest one is closed for the newest', async () => {
    for (let i = 0; i < 203; i++) begin(i)
    assert.deepEqual(ended, ['0', '1', '2'])
    const { sessions, early } = await figures()
    assert.deepEqual([sessions, early], [200, 200 * 500])
  })

  test('keep 4 KB each on average, unfinished messages included', async () => {
    const [first] = Array.from({ length: 50 }, (_, i) => begin(i, 14_000))
    assert.deepEqual(ended, [])
    begin('large', 200 * 4096 - 49 * 14_000)
    assert.deepEqual(ended, ['0'])
    // the session is forgotten
    inputLimits.holds(first, -14_000)
    inputLimits.holds(first, 100)
    begin('more', 1)
    assert.deepEqual(ended, ['0', '1'])
    assert.equal((await figures()).early, 200 * 4096 - 14_000 + 1)
  })

  test('may last 10 s, and leave nothing behind', async () => {
    begin('a')
    begin('b').terminate()
    clock.advance(9999)
    admit(begin('c'))
    assert.deepEqual(ended, ['b'])
    clock.advance(1)
    assert.deepEqual(ended, ['b', 'a'])
    const { sessions, early, late, cut } = await figures()
    assert.deepEqual([sessions, early, late, cut.late], [0, 0, 0, 1])
  })

  test('may send 64 KB in one message, 128 KB in total, and 100 frames', () => {
    const [bytes, frames, other] = [begin('bytes'), begin('frames'), begin('other')]
    assert.equal(bytes.maxBytes, EARLY_MESSAGE)
    for (let i = 0; i < 2; i++) inputLimits.received(bytes, 1, EARLY_MESSAGE)
    for (let i = 0; i < 50; i++) inputLimits.received(frames, 2, 0)
    assert.deepEqual(ended, [])
    inputLimits.received(bytes, 1, 1)
    inputLimits.received(frames, 1, 0)
    assert.deepEqual(ended, ['bytes', 'frames'])
    admit(other)
    assert.equal(other.maxBytes, MAX_BYTES)
    inputLimits.received(other, 1000, 2 ** 30)
    assert.deepEqual(ended, ['bytes', 'frames'])
  })
})

describe('unfinished messages of admitted clients', () => {
  test('may have 64 MB in total: the oldest one is dropped, with its connection', async () => {
    const sessions = Array.from({ length: 64 }, (_, i) => admit(begin(i)))
    for (const session of sessions) inputLimits.holds(session, MAX_BYTES)
    // a complete message makes room, and the next message of its session is younger
    inputLimits.holds(sessions[0], -MAX_BYTES)
    inputLimits.holds(sessions[0], MAX_BYTES)
    assert.deepEqual(ended, [])
    inputLimits.holds(admit(begin('more')), 1000)
    assert.deepEqual(ended, ['1'])
    assert.equal((await figures()).late, 63 * MAX_BYTES + 1000)
  })

  test('count from the moment of admission, without the head of the request', async () => {
    const session = begin('a', 3000)
    inputLimits.holds(session, 700)
    admit(session)
    assert.deepEqual(await figures().then(({ early, late }) => [early, late]), [0, 700])
    inputLimits.holds(session, -700)
    assert.equal((await figures()).late, 0)
  })

  test('no longer count after the end of their session', async () => {
    const [told, untold] = [admit(begin('told')), admit(begin('untold'))]
    for (const session of [told, untold]) inputLimits.holds(session, 1000)
    told.terminate()
    untold.readyState = 'closed'
    assert.equal((await figures()).late, 1000)
    clock.advance(1000)
    inputLimits.holds(untold, 1000)
    assert.equal((await figures()).late, 0)
  })

  test('are not affected by new clients', () => {
    inputLimits.holds(admit(begin('admitted')), MAX_BYTES)
    for (let i = 0; i < 1000; i++) inputLimits.holds(begin(i), EARLY_MESSAGE)
    assert.ok(ended.length > 900 && !ended.includes('admitted'))
  })
})
