import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { isOrder } from '../../src/wire/publication.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { waitFor } from '../helpers/wait.js'
import { entry, fresh, plain, publication, range } from './bus-fixture.js'

/** @param {import('./bus-fixture.js').Fixture} fixture */
export function directContract (fixture) {
  describe('direct publications', () => {
    /** @param {import('./bus-fixture.js').Inbox} box @param {string} event */
    const got = (box, event) => box.directs.filter((direct) => direct.event === event)

    /**
     * Publishes and waits for exactly the expected workers.
     * @param {Partial<import('./bus-fixture.js').Publication>} fields
     * @param {import('./bus-fixture.js').Inbox[]} expected
     */
    async function reaches (fields, expected) {
      const event = fresh('event')
      const sent = publication({ ...fields, event, value: Buffer.from([0, 255, 10]) })
      const { length: workers } = expected
      assert.deepEqual(await fixture.pair.publisher.publish([{ publication: sent }]), [
        {
          position: null,
          duplicate: false,
          ...(isOrder(sent) && { carriedOut: { connections: 3 * workers, workers } })
        }
      ])
      if (isOrder(sent)) for (const box of expected) assert.equal(got(box, event).length, 1, 'carried out by then')
      for (const box of expected) {
        await waitFor(() => got(box, event).length > 0, { message: `${fields.operator}` })
        assert.deepEqual(plain({ ...got(box, event)[0], value: null }), plain({ ...sent, value: null }))
        assert.deepEqual(
          got(box, event)[0].value,
          isOrder(sent) && fields.operator !== 'close' && fields.operator !== 'leave'
            ? got(box, event)[0].value
            : sent.value
        )
      }
      // the mark is the last message to every worker, so all earlier ones have arrived
      const mark = fresh('mark')
      await fixture.pair.publisher.publish([{ publication: publication({ operator: 'everyone', event: mark }) }])
      await waitFor(() => got(fixture.pair.one, mark).length + got(fixture.pair.two, mark).length === 2, {
        message: 'the mark'
      })
      for (const box of [fixture.pair.one, fixture.pair.two])
        assert.equal(got(box, event).length, expected.includes(box) ? 1 : 0)
    }

    test('everyone reaches all workers, once each', () =>
      reaches({ operator: 'everyone' }, [fixture.pair.one, fixture.pair.two]))

    test('socket, kick, join and leave by sid reach the worker that the sid names', async () => {
      const [sidOne, sidTwo, sidOther] = [...fixture.workers, 4095].map((number) => createSessionIds(number, {
        clock: systemClock, random: systemRandom
      })())
      await reaches({ operator: 'socket', sid: sidOne }, [fixture.pair.one])
      await reaches({ operator: 'socket', sid: sidTwo }, [fixture.pair.two])
      await reaches({ operator: 'kick', sid: sidTwo }, [fixture.pair.two])
      await reaches({ operator: 'kick', sid: sidOne, uid: 'ignored' }, [fixture.pair.one])
      await reaches({ operator: 'join', sid: sidOne, guid: fresh() }, [fixture.pair.one])
      await reaches({ operator: 'leave', sid: sidTwo, guid: fresh() }, [fixture.pair.two])
      await reaches({ operator: 'socket', sid: sidOther }, [])
      await reaches({ operator: 'socket', sid: 'not-one-of-ours' }, [])
    })

    test('user and orders by uid reach the workers of the user', async () => {
      const [uid, other] = [fresh('user {ü}'), fresh('user')]
      await fixture.pair.first.addUser(uid)
      await fixture.pair.second.addUser(other)
      for (const fields of /** @type {Partial<import('./bus-fixture.js').Publication>[]} */ ([
        { operator: 'user' },
        { operator: 'revoke', guid: fresh() },
        { operator: 'revoke', guid: fresh(), ttl: 60 },
        { operator: 'restore', guid: fresh() },
        { operator: 'restore' },
        { operator: 'join', guid: fresh() },
        { operator: 'leave', guid: fresh() },
        { operator: 'kick' },
        { operator: 'kick', ttl: 60 }
      ])) {
        await reaches({ ...fields, uid }, [fixture.pair.one])
        await reaches({ ...fields, uid: other }, [fixture.pair.two])
        await reaches({ ...fields, uid: fresh('nobody') }, [])
      }
      await fixture.pair.second.addUser(uid)
      await reaches({ operator: 'user', uid }, [fixture.pair.one, fixture.pair.two])
    })

    test('addUser first delivers the orders about the user, the newest of each kind', async () => {
      const { first, second, publisher, one, two } = fixture.pair
      const [uid, other, guid] = [fresh('user {ü}'), fresh('user'), fresh('doc {}')]
      const before = Date.now()
      const order = (/** @type {Partial<import('./bus-fixture.js').Publication>} */ fields) =>
        publisher.publish([{ publication: publication({ uid, ...fields }) }])
      await order({ operator: 'revoke', guid })
      await order({ operator: 'revoke', guid: `${guid}2` })
      await order({ operator: 'kick' })
      await order({ operator: 'user' })
      await order({ operator: 'revoke', guid })
      await order({ operator: 'kick', sid: createSessionIds(fixture.workers[0], { clock: systemClock, random: systemRandom })() })
      await first.addUser(other)
      assert.deepEqual(one.orders.filter((told) => told.uid === other), [])
      await first.addUser(uid)
      const [{ orders }, ...more] = one.orders.filter((told) => told.uid === uid)
      assert.deepEqual([orders.map(([name]) => name).sort(), more], [['k', `r${guid}`, `r${guid}2`], []])
      for (const [, at] of orders) assert.ok(at >= before - 1000 && at <= Date.now() + 1000, `${at - before} ms`)
      assert.deepEqual(two.orders.filter((told) => told.uid === uid), [])
      // and later ones live
      await order({ operator: 'revoke', guid: `${guid}3` })
      await waitFor(() => one.directs.some((direct) => direct.guid === `${guid}3`), { message: 'the revoke' })
      await second.addUser(uid)
      assert.equal(two.orders.find((told) => told.uid === uid)?.orders.length, 4)
    })

    test('an order is published when its workers have carried it out, however long that takes', async () => {
      const { first, publisher, one } = fixture.pair
      const uid = fresh('user')
      await first.addUser(uid)
      const { onDirect } = one
      let finish = (/** @type {number} */ _count) => {}
      const done = new Promise((resolve) => { finish = resolve })
      const arrived = new Promise((resolve) => {
        one.onDirect = (direct) => {
          if (direct.uid !== uid) return onDirect(direct)
          resolve(undefined)
          return done
        }
      })
      try {
        let isPublished = false
        const published = publisher.publish([{ publication: publication({ operator: 'join', uid, guid: fresh() }) }])
        published.then(() => { isPublished = true })
        await arrived
        await sleep(150)
        assert.equal(isPublished, false)
        finish(2)
        assert.deepEqual((await published)[0].carriedOut, { connections: 2, workers: 1 })
      } finally {
        one.onDirect = onDirect
      }
    })

    test('a restore takes back a revoke and a ban, and later workers learn what is in force', async () => {
      const { first, publisher, one } = fixture.pair
      const [uid, guid] = [fresh('user'), fresh()]
      const order = (/** @type {Partial<import('./bus-fixture.js').Publication>} */ fields) =>
        publisher.publish([{ publication: publication({ uid, ...fields }) }])
      const told = async () => {
        await first.removeUser(uid)
        one.orders.length = 0
        await first.addUser(uid)
        return new Map(one.orders.find((told) => told.uid === uid)?.orders)
      }
      const before = Date.now()
      await order({ operator: 'revoke', guid })
      await order({ operator: 'revoke', guid, ttl: 1000 })
      await order({ operator: 'revoke', guid, ttl: 10 })
      await order({ operator: 'kick', ttl: 5000 })
      const inForce = await told()
      assert.deepEqual([...inForce.keys()].sort(), [`b${guid}`, `r${guid}`, 'u'])
      for (const [name, ttl] of /** @type {[string, number][]} */ ([[`b${guid}`, 1000], ['u', 5000]])) {
        const off = Number(inForce.get(name)) - before - ttl * 1000
        assert.ok(off >= -1000 && off < 10_000, `${name}: ${off} ms`)
      }
      await order({ operator: 'restore', guid })
      assert.deepEqual([...(await told()).keys()].sort(), [`s${guid}`, 'u'])
      await order({ operator: 'restore' })
      assert.deepEqual([...(await told()).keys()].sort(), ['s', `s${guid}`])
      await order({ operator: 'revoke', guid })
      assert.deepEqual([...(await told()).keys()].sort(), [`r${guid}`, 's', `s${guid}`])
    })

    test('a record published after a revoke is delivered after it', async () => {
      const { first, publisher, one } = fixture.pair
      const uid = fresh('user')
      await first.addUser(uid)
      const guids = range(40).map(() => fresh())
      await Promise.all(guids.map((guid) => first.subscribe(guid)))
      /** @type {string[]} */
      const arrived = []
      const { onRecord, onDirect } = one
      one.onRecord = (record) => { arrived.push(`record ${record.publication.guid}`) }
      one.onDirect = (direct) => { arrived.push(`${direct.operator} ${direct.guid}`) }
      try {
        await Promise.all(guids.map(async (guid) => {
          await publisher.publish([{ publication: publication({ operator: 'revoke', uid, guid }) }])
          await publisher.publish([entry(guid, 'behind')])
        }))
        await waitFor(() => arrived.length >= 80, { message: () => arrived.length })
        for (const guid of guids)
          assert.deepEqual(
            arrived.filter((what) => what.endsWith(guid)),
            [`revoke ${guid}`, `record ${guid}`]
          )
      } finally {
        Object.assign(one, { onRecord, onDirect })
      }
    })

    test('removeUser ends delivery to this worker only', async () => {
      const uid = fresh('user')
      await fixture.pair.first.addUser(uid)
      await fixture.pair.second.addUser(uid)
      await fixture.pair.first.removeUser(uid)
      await reaches({ operator: 'user', uid }, [fixture.pair.two])
      await fixture.pair.second.removeUser(uid)
      await reaches({ operator: 'user', uid }, [])
      await fixture.pair.first.removeUser(uid)
      await fixture.pair.first.addUser(uid)
      await reaches({ operator: 'user', uid }, [fixture.pair.one])
    })

    test('a user that is removed and added again at once is registered', async () => {
      const uid = fresh('user')
      await fixture.pair.first.addUser(uid)
      await Promise.all([fixture.pair.first.removeUser(uid), fixture.pair.first.addUser(uid)])
      await reaches({ operator: 'user', uid }, [fixture.pair.one])
      await Promise.all([fixture.pair.first.addUser(uid), fixture.pair.first.removeUser(uid)])
      await reaches({ operator: 'user', uid }, [])
    })

    test('publications of one batch keep their order', async () => {
      const uid = fresh('user')
      await fixture.pair.first.addUser(uid)
      await fixture.pair.second.addUser(uid)
      const entries = range(20).map((i) => ({
        publication: publication({ operator: 'user', uid, event: `${uid}-${i}` })
      }))
      assert.equal((await fixture.pair.publisher.publish(entries)).length, 20)
      for (const box of [fixture.pair.one, fixture.pair.two]) {
        const mine = () => box.directs.filter((direct) => direct.uid === uid).map((direct) => direct.event)
        await waitFor(() => mine().length >= 20, { message: 'twenty' })
        assert.deepEqual(mine(), entries.map(({ publication }) => publication.event))
      }
    })
  })
}
