import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { Expiry } from '../../../src/gateway/expiry.js'

const START = 1_700_000_000_000

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const clock = manualClock(START)
  const expiry = new Expiry({ clock, random: systemRandom })
  expiry.start()
  t.after(() => expiry.stop())
  return {
    clock, expiry,
    /** @param {number} ms */
    pass (ms) {
      clock.advance(ms)
      expiry.tick()
    },
    /** @param {number | null} expiresIn ms */
    connection (expiresIn) {
      /** @type {(string | number)[]} */
      const heard = []
      const connection = {
        heard,
        /** @type {{ expiresAt: number | null }} */
        identity: { expiresAt: expiresIn === null ? null : START + expiresIn },
        send: (/** @type {string} */ event, /** @type {{ inMs: number }} */ { inMs }) => {
          heard.push(event, inMs)
        },
        disconnect (/** @type {string} */ code) {
          heard.push(code)
          expiry.forget(/** @type {any} */ (connection))
        }
      }
      expiry.watch(/** @type {any} */ (connection))
      return connection
    }
  }
}

describe('expiry', () => {
  test('warns a minute before the expiry, and ends the connection', (t) => {
    const { connection, pass } = setUp(t)
    const one = connection(120_500)
    pass(60_000)
    assert.deepEqual(one.heard, [])
    pass(1000)
    assert.deepEqual(one.heard, ['auth:expiring', 59_500])
    pass(59_000)
    assert.deepEqual(one.heard.length, 2)
    pass(1000)
    assert.deepEqual(one.heard, ['auth:expiring', 59_500, 'token_expired'])
    pass(100_000)
    assert.equal(one.heard.length, 3)
  })

  test('handles at most 100 in one turn of the event loop, in the order of their seconds', (t) => {
    const { connection, clock, pass, expiry } = setUp(t)
    const first = Array.from({ length: 150 }, () => connection(2000))
    const then = Array.from({ length: 100 }, () => connection(3000))
    const ended = () => [first, then].map((all) => all.filter(({ heard }) => heard.length > 0).length)
    clock.stall(3000)
    expiry.tick()
    assert.deepEqual(ended(), [100, 0])
    clock.turn()
    assert.deepEqual(ended(), [150, 50])
    // nor does the timer handle anything twice
    expiry.tick()
    assert.deepEqual(ended(), [150, 100])
    clock.turn()
    pass(1000)
    assert.ok([...first, ...then].every(({ heard }) => heard.length === 1))
  })

  test('warns at once when less than a minute is left, and not at all when there is hardly any time', (t) => {
    const { connection, pass } = setUp(t)
    const [soon, sooner, over] = [connection(30_000), connection(4000), connection(-1000)]
    pass(1000)
    assert.deepEqual([soon.heard, sooner.heard, over.heard], [['auth:expiring', 29_000], [], ['token_expired']])
    pass(3000)
    assert.deepEqual(sooner.heard, ['token_expired'])
  })

  test('ignores connections without an expiry, closed ones, and those with a new token', (t) => {
    const { connection, pass, expiry } = setUp(t)
    const [forever, gone, longer, shorter] = [
      connection(null),
      connection(2000),
      connection(2000),
      connection(3_600_000)
    ]
    expiry.forget(/** @type {any} */ (gone))
    longer.identity.expiresAt = START + 600_000
    expiry.watch(/** @type {any} */ (longer))
    shorter.identity.expiresAt = START + 2000
    expiry.watch(/** @type {any} */ (shorter))
    pass(10_000)
    assert.deepEqual([forever.heard, gone.heard, longer.heard, shorter.heard], [[], [], [], ['token_expired']])
    longer.identity.expiresAt = null
    expiry.watch(/** @type {any} */ (longer))
    pass(3_600_000)
    assert.deepEqual(longer.heard, [])
  })

  test('a withdrawn key ends its connections within two minutes, warned one by one in the first, unless they get another token or the ' +
    'key is back', (t) => {
    const { connection, pass, expiry, clock } = setUp(t)
    const key = /** @type {any} */ ({ withdrawnAt: null })
    const all = Array.from({ length: 200 }, (_, i) => connection(i % 2 ? null : 3_600_000))
    const [other, soon] = [connection(null), connection(90_000)]
    for (const one of [...all, soon]) Object.assign(one.identity, { key })
    key.withdrawnAt = clock.now()
    for (const one of [...all, soon]) expiry.watch(/** @type {any} */ (one))
    const warned = () => all.filter(({ heard }) => heard.length > 0).length
    pass(30_000)
    assert.ok(warned() > 60 && warned() < 140, `${warned()} after half a minute`)
    pass(31_000)
    assert.equal(warned(), 200)
    for (const { heard } of all)
      assert.ok(heard.length === 2 && Number(heard[1]) >= 59_000 && Number(heard[1]) <= 120_000, `${heard}`)
    const refreshed = all[0]
    refreshed.identity = { expiresAt: START + 3_600_000 }
    expiry.watch(/** @type {any} */ (refreshed))
    pass(60_000)
    assert.deepEqual(new Set(all.slice(1).map(({ heard }) => heard[2])), new Set(['token_expired']))
    assert.deepEqual(
      [refreshed.heard.length, other.heard, soon.heard],
      [2, [], ['auth:expiring', 60_000, 'token_expired'].map((word, i) => (i === 1 ? soon.heard[1] : word))]
    )

    const mistaken = [connection(null), connection(3_600_000)]
    const left = /** @type {any} */ ({ withdrawnAt: clock.now() })
    for (const one of mistaken) {
      Object.assign(one.identity, { key: left })
      expiry.watch(/** @type {any} */ (one))
    }
    left.withdrawnAt = null
    pass(300_000)
    assert.deepEqual(mistaken.map(({ heard }) => heard), [[], []])
    pass(3_600_000)
    assert.deepEqual(mistaken.map(({ heard }) => heard.at(-1)), [undefined, 'token_expired'])
  })

  test('catches up with all connections when ticks were late', (t) => {
    const { connection, pass } = setUp(t)
    const all = Array.from({ length: 200 }, (_, i) => connection(1000 + 100 * i))
    pass(100_000)
    for (const { heard } of all) assert.equal(heard.at(-1), 'token_expired')
  })

  test('tolerates a clock that is set back', (t) => {
    const { connection, pass, clock } = setUp(t)
    pass(10_000)
    clock.step(-600_000)
    const one = connection(-587_000)
    pass(500)
    assert.deepEqual(one.heard, [])
    pass(3500)
    assert.deepEqual(one.heard.at(-1), 'token_expired')
  })
})
