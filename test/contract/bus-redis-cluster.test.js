import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createKeys } from '../../src/redis/keys.js'
import { hashSlot } from '../../src/redis/hash-slot.js'
import { waitFor } from '../helpers/wait.js'
import { startRedisCluster } from '../services/redis.js'
import { arrived, createFixture, entry, fresh, of, publication, range, texts } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const { documentChannel } = createKeys()

describe('redis cluster in motion', () => {
  /** @type {Awaited<ReturnType<typeof startRedisCluster>>} */
  let cluster
  /** @type {{ redis: Redis, id: string }[]} */
  let nodes
  /** @type {ReturnType<typeof createFixture>} */
  let fixture
  before(async () => {
    cluster = await startRedisCluster()
    nodes = await Promise.all(cluster.nodes.map(async ({ url }) => {
      const redis = new Redis(url)
      redis.on('error', () => {})
      return { redis, id: /** @type {string} */ (await redis.cluster('MYID')) }
    }))
    fixture = createFixture((options) => createRedisPair(cluster.url, options))
    await fixture.start()
  })
  after(async () => {
    await fixture?.stop()
    for (const { redis } of nodes ?? []) redis.disconnect()
    await cluster?.stop()
  })

  /** @param {number} slot @returns {Promise<number>} index of the node that has it */
  async function ownerOf (slot) {
    const ranges = await nodes[0].redis.cluster('SLOTS')
    const port = ranges.find(([from, to]) => slot >= from && slot <= to)?.[2][1]
    return cluster.nodes.findIndex((node) => node.port === port)
  }

  /** Moves a slot with its keys to the next node, as redis-cli --cluster reshard does. @param {number} slot */
  async function migrate (slot) {
    const from = await ownerOf(slot)
    const to = (from + 1) % nodes.length
    const [source, target] = [nodes[from], nodes[to]]
    await target.redis.cluster('SETSLOT', slot, 'IMPORTING', source.id)
    await source.redis.cluster('SETSLOT', slot, 'MIGRATING', target.id)
    for (;;) {
      const keys = /** @type {string[]} */ (await source.redis.cluster('GETKEYSINSLOT', slot, 10))
      if (keys.length === 0) break
      await source.redis.migrate('127.0.0.1', cluster.nodes[to].port, '', 0, 5000, 'KEYS', ...keys)
    }
    await target.redis.cluster('SETSLOT', slot, 'NODE', target.id)
    await source.redis.cluster('SETSLOT', slot, 'NODE', target.id)
  }

  test('a document whose hash slot moves stays subscribed and complete, and its workers are notified', async () => {
    const { first, second, publisher, one, two } = fixture.pair
    const guid = fresh()
    const others = range(20).map(() => fresh())
    await Promise.all(others.map((other) => first.subscribe(other)))
    const start = await first.subscribe(guid)
    await second.subscribe(guid)

    let sequence = 0
    let stopped = false
    const publishing = (async () => {
      while (!stopped) {
        const offered = [{ ...entry(guid, ++sequence), origin: { source: 't/0', sequence } }]
        await waitFor(() => publisher.publish(offered), { timeout: 10_000, message: 'publish' })
        await turn()
      }
    })()
    try {
      for (let round = 0; round < 4; round++) {
        const before = [one, two].map((box) => box.reconnects.length)
        await migrate(hashSlot(documentChannel(guid)))
        await waitFor(() => [one, two].every((box, i) => box.reconnects.slice(before[i]).flat().includes(guid)), {
          timeout: 15_000,
          message: 'onReconnect on both workers'
        })
        const mark = sequence
        await waitFor(() => [one, two].every((box) => texts(of(box, guid)).some((text) => text > mark + 10)), {
          message: 'live delivery after it'
        })
      }
    } finally {
      stopped = true
      await publishing
    }
    assert.ok(
      !one.reconnects.flat().some((told) => others.includes(told)),
      'documents that did not move were not interrupted'
    )
    /** @type {number[]} */
    const kept = []
    while (kept.length < sequence) {
      const { records, gap } = await first.history(guid, { ...start, offset: kept.length }, 1000)
      assert.equal(gap, null)
      kept.push(...texts(records))
    }
    assert.deepEqual(kept, range(sequence, 1), 'each once, in order')
    for (const box of [one, two]) {
      const live = texts(of(box, guid))
      assert.deepEqual(live, [...new Set(live)].sort((a, b) => a - b), 'live records are in order, each once')
      assert.ok(sequence - live.length < 200, `${sequence - live.length} of ${sequence} were missed live`)
    }
  })

  test('an outage of one node does not affect documents of the others, and its own recover with it', async () => {
    const { first, publisher, one } = fixture.pair
    const guids = range(24).map(() => fresh())
    await Promise.all(guids.map((guid) => first.subscribe(guid)))
    const owners = await Promise.all(guids.map((guid) => ownerOf(hashSlot(documentChannel(guid)))))
    const theirs = guids.filter((_, i) => owners[i] !== 2)
    const lost = guids.filter((_, i) => owners[i] === 2)
    assert.ok(theirs.length > 0 && lost.length > 0)
    const uids = range(24).map(() => fresh('user'))
    await Promise.all(uids.map((uid) => first.addUser(uid)))
    const before = one.reconnects.length

    await cluster.nodes[2].kill()
    await waitFor(() => Promise.all(theirs.map((guid) => publisher.publish([entry(guid, 'during')]))), {
      message: 'the other nodes to work'
    })
    for (const guid of theirs) await arrived(one, guid, 1)
    // timeout: the command may have been sent before the connection ended
    await assert.rejects(
      publisher.publish([entry(lost[0], 'during')]),
      ({ code }) => code === 'unavailable' || code === 'timeout'
    )

    await cluster.nodes[2].restart()
    await waitFor(() => lost.every((guid) => one.reconnects.slice(before).flat().includes(guid)), {
      timeout: 20_000,
      message: 'onReconnect for the documents of the node'
    })
    await waitFor(() => Promise.all(lost.map((guid) => publisher.publish([entry(guid, 'after')]))), {
      timeout: 20_000,
      message: 'the node to work again'
    })
    for (const guid of lost) await waitFor(() => texts(of(one, guid)).includes('after'), { message: 'live delivery' })
    // the node is empty after its restart: its users have to be registered again
    await waitFor(
      async () => {
        await Promise.all(
          uids.map((uid) => publisher.publish([{ publication: publication({ operator: 'user', uid }) }]))
        )
        return uids.every((uid) => one.directs.some((direct) => direct.uid === uid))
      },
      {
        timeout: 20_000,
        message: () => `all users, there are ${new Set(one.directs.map((direct) => direct.uid)).size}`
      }
    )
  })
})
