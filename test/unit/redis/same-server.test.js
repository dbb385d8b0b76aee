import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createSameServer } from '../../../src/redis/identity/same-server.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {string | undefined} server @returns {any} */
const connectionTo = (server) => ({ ready: true, server, reconnects: 0, reconnect () { this.reconnects++ } })

test('subscribers of another server than that of the commands reconnect, at once or when they know their server', async () => {
  const [same, other, unknown] = ['new', 'old', undefined].map(connectionTo)
  const all = [same, other, unknown]
  const sameServer = createSameServer(() => all, { clock: systemClock, random: systemRandom })
  sameServer.known(other)
  sameServer.follow({ server: 'new', generation: '' })
  assert.deepEqual(all.map(({ reconnects }) => reconnects), [0, 1, 0])
  sameServer.follow({ server: undefined, generation: '' })
  sameServer.known(same)
  const late = connectionTo('old')
  all.push(late)
  sameServer.known(late)
  await waitFor(() => late.reconnects === 1, { message: 'a reconnect' })
  assert.equal(same.reconnects, 0)
  sameServer.stop()
})

test('a subscriber that is there before the commands does not reconnect', async () => {
  const early = connectionTo('new')
  const all = [early]
  const sameServer = createSameServer(() => all, { clock: systemClock, random: systemRandom })
  sameServer.follow({ server: 'old', generation: '' })
  early.reconnects = 0
  sameServer.known(early)
  sameServer.follow({ server: 'new', generation: '' })
  const late = connectionTo('old')
  all.push(late)
  sameServer.known(late)
  await waitFor(() => late.reconnects === 1)
  assert.equal(early.reconnects, 0)
  sameServer.stop()
})
