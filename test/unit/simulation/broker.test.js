import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Broker } from '../../simulation/parts/broker.js'
import { World } from '../../simulation/world/world.js'

const TOPIC = 'records'
const GROUP = 'group'

/** @param {number} [seed] @param {number} [partitions] */
function open (seed = 1, partitions = 2) {
  const world = new World(seed)
  const broker = new Broker(world)
  broker.create(TOPIC, { partitions })
  const process = (/** @type {string} */ name) => world.process(name, { name, step: 0 })
  return { world, broker, process, wait: (/** @type {number} */ ms) => world.run(world.time + ms) }
}

/** @param {Broker} broker @param {number} [partition] @returns {string[]} what is written, by offset */
const written = (broker, partition = 0) =>
  broker.topic(TOPIC).partitions[partition].records.map(({ value }) => String(value))

/** @param {number} count @param {number} [from] */
const numbered = (count, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ value: String(from + i), partition: 0 }))

/**
 * A member that commits what it gets.
 * @param {Broker} broker
 * @param {import('../../simulation/world/sim-process.js').SimProcess} process
 */
function join (broker, process) {
  const member = {
    /** @type {string[]} */
    got: [],
    /** @type {(string | number[])[]} */
    events: [],
    /** @type {number[]} */
    assigned: [],
    /** @type {string[]} */
    refused: [],
    subscription: broker.driver(process).consume({ topic: TOPIC, groupId: GROUP }, {
      onJoined ({ partitions }) {
        member.assigned = partitions
        member.events.push(partitions)
      },
      onRebalance: () => { member.events.push('rebalance') },
      onResponse () {},
      onSkip () {},
      onFailure: (error) => { member.events.push(`failed: ${error.message}`) },
      async handle ({ messages, resolve, partition, end, commit }) {
        assert.equal(broker.world.current, process)
        for (const { value } of messages) member.got.push(String(value))
        resolve(messages[messages.length - 1].offset)
        await commit([{ partition, offset: end, metadata: '' }])
          .catch((error) => { member.refused.push(error.type) })
      }
    })
  }
  process.enter('join', () => member.subscription.start())
  return member
}

test('the seed decides everything', async () => {
  /** @param {number} seed */
  const run = async (seed) => {
    const { world, broker, process, wait } = open(seed)
    const members = ['a', 'b'].map((name) => join(broker, process(name)))
    const service = process('service')
    for (let i = 0; i < 30; i++)
      service.enter('send', () => { broker.produce(service, TOPIC, [{ key: `${i}`, value: `${i}` }]) }, 200 * i)
    world.schedule(1000, 'fault', () => broker.away(1500), null)
    world.schedule(3000, 'fault', () => broker.loseEnd(TOPIC, 0, 2), null)
    world.schedule(4000, 'fault', () => broker.process.end(null), null)
    await wait(15_000)
    assert.deepEqual(world.violations, [])
    return JSON.stringify([world.trace.hash, members.map(({ got, events }) => [got, events])])
  }
  for (let seed = 1; seed <= 5; seed++) assert.equal(await run(seed), await run(seed))
  assert.notEqual(await run(1), await run(2))
})

for (const how of /** @type {const} */ (['killed', 'paused'])) {
  test(`partitions of a member that is ${how} are assigned to others after 10 s`, async () => {
    const { broker, process, wait } = open()
    const [one, other] = [process('one'), process('other')]
    const [member, rest] = [join(broker, one), join(broker, other)]
    await wait(5000)
    assert.deepEqual([...member.assigned, ...rest.assigned].sort(), [0, 1])
    if (how === 'killed') one.end(null)
    else one.pause(30_000)
    await wait(8000)
    assert.equal(rest.assigned.length, 1)
    await wait(4000)
    assert.deepEqual([...rest.assigned].sort(), [0, 1])
    if (how === 'killed') return
    await wait(25_000)
    assert.deepEqual([...member.assigned, ...rest.assigned].sort(), [0, 1])
    assert.deepEqual([member.events.at(-1), rest.events.at(-2)], [member.assigned, 'rebalance'])
  })
}

test('a commit of an earlier generation is refused', async () => {
  const { broker, process, wait } = open(1, 1)
  const one = process('one')
  const member = join(broker, one)
  await wait(2000)
  one.pause(15_000)
  const other = join(broker, process('other'))
  await wait(14_000)
  assert.deepEqual(other.assigned, [0])
  /** @type {string[]} */
  const refused = []
  one.enter('commit', () => {
    member.subscription.commit([{ partition: 0, offset: 7, metadata: '' }]).catch(({ type }) => { refused.push(type) })
  })
  await wait(3000)
  assert.deepEqual(refused, ['UNKNOWN_MEMBER_ID'])
  assert.equal(broker.group(GROUP).committed.get(TOPIC), undefined)
})

test('a batch is written once, in order, however often it is sent, while the broker comes and goes', async () => {
  let withoutAnswer = 0
  for (let seed = 1; seed <= 40; seed++) {
    const { world, broker, process, wait } = open(seed, 1)
    const service = process('service')
    let acknowledged = 0
    for (let i = 0; i < 20; i++) {
      service.enter('send', () => {
        broker.produce(service, TOPIC, numbered(3, 3 * i)).then((places) => {
          assert.equal(world.current, service)
          assert.deepEqual(places.map(({ offset }) => offset), [3 * i, 3 * i + 1, 3 * i + 2])
          acknowledged++
        })
      }, 100 * i)
    }
    for (let i = 0; i < 4; i++) world.schedule(500 * i, 'fault', () => {
      const before = written(broker).length
      broker.away(300, { isSilent: i === 3 })
      world.schedule(290, 'look', () => { if (written(broker).length > before) withoutAnswer++ }, null)
    }, null)
    await wait(60_000)
    assert.deepEqual(world.violations, [])
    assert.equal(acknowledged, 20)
    assert.deepEqual(written(broker), numbered(60).map(({ value }) => value))
  }
  assert.ok(withoutAnswer >= 20, String(withoutAnswer))
})

test('a batch of a service can be written twice, with other offsets', async () => {
  const { broker, process, wait } = open()
  const service = process('service')
  broker.duplicate()
  service.enter('send', () => { broker.produce(service, TOPIC, numbered(3)) })
  await wait(2000)
  assert.deepEqual(written(broker), ['0', '1', '2', '0', '1', '2'])
})

test('a partition that loses its end has new records at the same offsets, with a later epoch', async () => {
  const { world, broker, process, wait } = open(1, 1)
  const service = process('service')
  const send = (/** @type {number} */ count, /** @type {number} */ from) =>
    service.enter('send', () => { broker.produce(service, TOPIC, numbered(count, from)) })
  send(10, 0)
  await wait(1000)
  const member = join(broker, process('member'))
  await wait(1000)
  broker.loseEnd(TOPIC, 0, 4)
  await wait(1000)
  send(3, 10)
  await wait(5000)
  const { records, lost } = broker.topic(TOPIC).partitions[0]
  assert.deepEqual(lost.map(({ value }) => String(value)), ['6', '7', '8', '9'])
  assert.deepEqual(
    records.slice(5).map(({ value, offset, batchContext }) => [String(value), offset, batchContext.leaderEpoch]),
    [['5', '5', 0], ['10', '6', 1], ['11', '7', 1], ['12', '8', 1]]
  )
  const driver = broker.driver(service)
  /** @type {(number | undefined)[]} */
  const ends = []
  service.enter('ask', async () => {
    for (const epoch of [0, 1, 2]) ends.push(await driver.epochEnd({ topic: TOPIC, partition: 0, epoch }))
  })
  await wait(1000)
  assert.deepEqual(ends, [6, 9, undefined])
  // its offset is beyond the end: it begins again with the first record, as kafkajs does
  assert.deepEqual(member.got, numbered(10).map(({ value }) => value).concat(written(broker)))
  assert.deepEqual(world.violations, [])
})

test('a topic that is created again begins at 0, and members read it', async () => {
  const { broker, process, wait } = open(1, 1)
  const service = process('service')
  const { id } = broker.topic(TOPIC)
  service.enter('send', () => { broker.produce(service, TOPIC, numbered(5)) })
  const member = join(broker, process('member'))
  await wait(2000)
  broker.recreate(TOPIC, 500)
  await wait(2000)
  assert.notEqual(broker.topic(TOPIC).id, id)
  service.enter('send', () => { broker.produce(service, TOPIC, numbered(3, 5)) })
  await wait(20_000)
  assert.deepEqual(written(broker), ['5', '6', '7'])
  assert.deepEqual(member.got.slice(-3), ['5', '6', '7'])
})

test('a member that is behind deleted records continues with the first one that is left', async () => {
  const { broker, process, wait } = open(1, 1)
  const service = process('service')
  service.enter('send', () => { broker.produce(service, TOPIC, numbered(10)) })
  await wait(1000)
  broker.expire(TOPIC, 0, 4)
  broker.group(GROUP).committed.set(TOPIC, new Map([[0, { partition: 0, offset: 2, metadata: '' }]]))
  const member = join(broker, process('member'))
  await wait(3000)
  assert.deepEqual(member.got, numbered(6, 4).map(({ value }) => value))
})

test('of the requests of a turn in which a process is killed, the first ones are carried out', async () => {
  /** @type {Set<number>} */
  const counts = new Set()
  for (let seed = 1; seed <= 40; seed++) {
    const { broker, process, wait } = open(seed, 1)
    const service = process('service')
    const driver = broker.driver(service)
    let answers = 0
    service.enter('connect', async () => {
      const subscription = driver.consume({ topic: TOPIC, groupId: GROUP }, /** @type {any} */ ({
        onJoined () {
          service.enter('commit', () => {
            service.killInTurn(0.7)
            for (let i = 1; i <= 5; i++)
              subscription.commit([{ partition: 0, offset: i, metadata: '' }]).then(() => { answers++ })
          })
        },
        onResponse () {}, onRebalance () {}, onFailure () {}
      }))
      await subscription.start()
    })
    await wait(3000)
    assert.equal(service.isAlive, false)
    assert.equal(answers, 0)
    counts.add(broker.group(GROUP).committed.get(TOPIC)?.get(0)?.offset ?? 0)
  }
  assert.ok(counts.size >= 3, [...counts].join())
})
