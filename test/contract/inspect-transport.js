import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { waitFor } from '../helpers/wait.js'

/** @typedef {import('../../src/watch/inspect/contract.js').InspectTransport} InspectTransport */

/**
 * The contract of every transport of the inspector.
 *
 * @param {string} name
 * @param {(t: import('node:test').TestContext) => Promise<[InspectTransport, InspectTransport]>} pair of two processes,
 *   not started
 */
export function inspectTransportContract (name, pair) {
  const batch = (/** @type {string} */ process) => ({ process, host: 'h', events: [{ at: 1, hop: /** @type {const} */ ('received') }] })

  describe(`transport of the inspector: ${name}`, () => {
    test('an announcement reaches every process, also the one that announces', async (t) => {
      const transports = await pair(t)
      const id = randomUUID()
      /** @type {string[][]} */
      const seen = [[], []]
      await Promise.all(transports.map((transport, i) => transport.start((watch) => seen[i].push(watch.id))))
      t.after(() => Promise.all(transports.map((transport) => transport.stop())))
      await waitFor(async () => {
        await transports[0].announce({ id, guid: 'g', lease: 1000 })
        await delay(20)
        return seen.every((ids) => ids.includes(id))
      })
    })

    test('batches of a watch reach its followers, until they end it, and no other process', async (t) => {
      const [one, two] = await pair(t)
      const [id, other] = [randomUUID(), randomUUID()]
      /** @type {string[]} */
      const seen = []
      const unfollow = await one.follow(id, ({ process }) => seen.push(process))
      await two.send(other, batch('other'))
      await two.send(id, batch('two'))
      await one.send(id, batch('one'))
      await waitFor(() => seen.length === 2)
      assert.deepEqual(seen.sort(), ['one', 'two'])
      unfollow()
      await two.send(id, batch('late'))
      await delay(100)
      assert.equal(seen.length, 2)
    })

    test('a stopped one gets no announcements', async (t) => {
      const [one, two] = await pair(t)
      /** @type {string[]} */
      const seen = []
      await Promise.all([one.start((watch) => seen.push(watch.id)), two.start(() => {})])
      await one.stop()
      await two.announce({ id: randomUUID(), uid: 'u', lease: 1000 })
      await delay(100)
      assert.deepEqual(seen, [])
      await two.stop()
    })
  })
}
