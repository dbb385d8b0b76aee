import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { createTicketKeys } from '../../../src/config/tls/ticket-keys.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'

/** ms */
const PERIOD = 12 * 3600_000

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const directory = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const clock = manualClock(1000.5 * PERIOD)
  return {
    directory,
    /** @param {number} ms */
    pass (ms) {
      clock.stall(ms)
      clock.advance(1000)
    },
    /** @param {object} [options] */
    async start (options = { directory }) {
      const keys = createTicketKeys({ clock, ...options, random: systemRandom })
      await keys.start()
      t.after(() => keys.stop())
      return keys
    }
  }
}
/** @param {import('../../../src/config/tls/ticket-keys.js').TicketKeys[]} all */
const texts = (all) => all.map((keys) => keys.current().toString('hex'))

test('processes of one directory have the same keys, also one that starts later, and after a rotation', async (t) => {
  const { directory, pass, start } = setUp(t)
  const first = await Promise.all([start(), start(), start()])
  assert.equal(new Set(texts(first)).size, 1)
  assert.equal(first[0].current().length, 48)
  const before = texts(first)[0]
  const state = readFileSync(join(directory, 'tickets'), 'utf8')

  /** @type {string[]} */
  const told = []
  first[1].onRotated((keys) => told.push(keys.toString('hex')))
  pass(3 * PERIOD)
  await waitFor(() => texts(first).every((text) => text !== before))
  assert.deepEqual(new Set(texts(first)), new Set(told))
  await waitFor(() => readFileSync(join(directory, 'tickets'), 'utf8') !== state)
  // from the old state in the file, or the new one
  assert.deepEqual(texts([await start()]), told)
  // nothing of the earlier state is left
  await waitFor(() => readdirSync(directory).length === 1)
})

test('a process that starts while the file has the state of an earlier period has the same keys', async (t) => {
  const { pass, start } = setUp(t)
  const first = await start()
  first.stop()
  pass(2 * PERIOD)
  const [second, third] = await Promise.all([start(), start()])
  assert.deepEqual(texts([second]), texts([third]))
  assert.notDeepEqual(texts([second]), texts([first]))
})

test('only this user may read the file', async (t) => {
  const { directory, start } = setUp(t)
  await start()
  assert.equal(statSync(join(directory, 'tickets')).mode & 0o777, 0o600)
})

test('with a secret, processes without a common directory have the same keys; other secrets give others', async (t) => {
  const { pass, start } = setUp(t)
  const secret = 'a secret of at least 32 characters'
  const all = await Promise.all([start({ secret }), start({ secret }), start({ secret: `${secret}.` }), start({})])
  const [a, b, other, own] = texts(all)
  assert.equal(a, b)
  assert.equal(new Set([a, other, own]).size, 3)
  pass(PERIOD)
  await waitFor(() => texts(all)[0] !== a && texts(all)[1] !== a)
  assert.equal(texts(all)[0], texts(all)[1])
})
