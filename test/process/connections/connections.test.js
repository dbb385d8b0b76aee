import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { DOORS } from '../../helpers/doors/doors.js'
import { waitFor } from '../../helpers/wait.js'
import { documentsContract } from './documents.js'
import { limitsContract } from './limits.js'
import { rightsContract } from './rights.js'
import { usersContract } from './users.js'
import { MAX_RECORD, PER_USER, startWorld } from './world.js'

/** The contract of connections, over each door. Properties of one door alone are tested beside it. */
const world = await startWorld({ after })
const { inkcast, connect, publish } = world

for (const door of DOORS) {
  describe(door.name, () => {
    documentsContract(world, door)
    rightsContract(world, door)
    usersContract(world, door)
    limitsContract(world, door)
  })
}

describe('clients of all doors', () => {
  const all = (/** @type {import('./world.js').TestContext} */ t, /** @type {string} */ uid) =>
    Promise.all(DOORS.map((door) => connect(t, door, {}, uid)))
  const FILL = 'x'.repeat(MAX_RECORD - 100)
  /** Records after which a client that reads nothing must be behind: more than sockets buffer. */
  const MANY = 300

  test('meet in a document', async (t) => {
    const guid = randomUUID()
    const clients = await all(t, randomUUID())
    for (const client of clients) await client.join(guid, { state: { at: client.id } })
    const [{ connections }] = (await clients[0].members(guid)).members
    assert.equal(connections.length, DOORS.filter(({ cannot }) => cannot.members === undefined).length)
    for (const [i, client] of clients.entries()) await client.send(guid, i)
    await waitFor(() => clients.every((client) => client.records(guid).length === PER_USER), {
      message: () => clients.map((client) => client.records(guid))
    })
    for (const client of clients)
      assert.deepEqual(client.records(guid).map(({ payload }) => payload), [...clients.keys()])
  })

  test('that read nothing for a while get all records from the log, once and in order', async (t) => {
    const guid = randomUUID()
    const uid = randomUUID()
    const clients = await all(t, uid)
    for (const client of clients) {
      await client.join(guid)
      client.reads(false)
    }
    const behind = () =>
      [...inkcast.gateway.directory.user(uid)].filter(({ backlog }) => (backlog?.behind ?? 0) > 0).length
    let count = 0
    const counted = DOORS.filter(({ cannot }) => cannot.backlogs === undefined).length
    for (; count < MANY && behind() < counted; count++) await publish(guid, { count, FILL })
    assert.equal(behind(), counted)
    for (const end = count + 5; count < end; count++) await publish(guid, { count, FILL })
    for (const client of clients) client.reads(true)
    for (const [i, client] of clients.entries()) {
      await waitFor(() => client.records(guid).length >= count, {
        timeout: 20_000, message: () => `${client.records(guid).length} of ${count} records at ${DOORS[i].name}`
      })
      assert.deepEqual(client.records(guid).map(({ payload }) => payload.count), [...Array(count).keys()])
    }
  })

  test('that read nothing are closed with 1013 when messages that no log keeps are too many', async (t) => {
    const uid = randomUUID()
    const clients = await all(t, uid)
    for (const client of clients) client.reads(false)
    const open = () => [...inkcast.gateway.directory.user(uid)].length
    for (let i = 0; i < MANY && open() > 0; i++) await inkcast.post(`/v1/users/${uid}/send`, FILL)
    assert.equal(open(), 0)
    for (const client of clients) client.reads(true)
    for (const [i, { ended }] of clients.entries()) assert.match(String(await ended), DOORS[i].told(1013))
  })

  test('learn that the gateway stops, and are then closed', async (t) => {
    const clients = await all(t, randomUUID())
    const stopped = inkcast.stop()
    for (const client of clients) {
      const { payload } = await client.event('gateway:draining')
      assert.ok(payload.reconnectInMs >= 0 && payload.reconnectInMs <= 1000)
    }
    // without a code: clients connect again by themselves
    for (const [i, { ended }] of clients.entries()) assert.match(String(await ended), DOORS[i].told(1005))
    await stopped
    assert.equal(inkcast.gateway.connections, 0)
  })
})
