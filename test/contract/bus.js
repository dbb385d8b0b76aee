import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { InkcastError } from '../../src/base/common/errors.js'
import { waitFor } from '../helpers/wait.js'
import { directContract } from './bus-direct.js'
import { createFixture, entry, fresh, of } from './bus-fixture.js'
import { historyContract } from './bus-history.js'
import { keysContract } from './bus-keys.js'
import { newestContract } from './bus-newest.js'
import { publishContract } from './bus-publish.js'
import { queuesContract } from './bus-queues.js'
import { subscribeContract } from './bus-subscribe.js'
import { usersContract } from './bus-users.js'

/**
 * The contract of every bus. An implementation's test calls this with a function that creates two workers and a
 * publisher on the same backend, which other tests may use at the same time.
 *
 * @param {string} name
 * @param {import('./bus-fixture.js').CreatePair} createPair
 */
export function busContract (name, createPair) {
  const fixture = createFixture(createPair)

  describe(`bus contract: ${name}`, () => {
    before(() => fixture.start())
    after(() => fixture.stop())

    publishContract(fixture)
    subscribeContract(fixture)
    historyContract(fixture)
    keysContract(fixture)
    newestContract(fixture)
    queuesContract(fixture)
    directContract(fixture)
    usersContract(fixture)

    test('stop ends delivery, and publish rejects with unavailable', async () => {
      const stopped = await fixture.open({ size: 10, ttl: 60 })
      const guid = fresh()
      try {
        await stopped.first.subscribe(guid)
        await stopped.second.subscribe(guid)
        await stopped.first.stop()
        await assert.rejects(
          stopped.first.publish([entry(guid, 1)]),
          (error) => error instanceof InkcastError && error.code === 'unavailable'
        )
        await stopped.publisher.publish([entry(guid, 1)])
        await waitFor(() => of(stopped.two, guid).length === 1, { message: 'the other worker' })
        assert.deepEqual(of(stopped.one, guid), [])
      } finally {
        await stopped.stop()
      }
    })
  })
}
