import assert from 'node:assert/strict'
import { waitFor } from './wait.js'

/**
 * Counts the calls of a gateway to its bus, and can delay `subscribe`.
 *
 * @param {Awaited<ReturnType<typeof import('./embedded.js').startEmbedded>>} server
 */
export function watchBus ({ gateway: { bus } }) {
  const documents = new Set()
  const users = new Set()
  const { subscribe, unsubscribe, addUser, removeUser } = bus
  const watched = {
    documents,
    users,
    /** Delays each `subscribe` until the promise resolves. @type {(guid: string) => Promise<unknown> | undefined} */
    beforeSubscribe: () => undefined
  }
  bus.subscribe = async (guid) => {
    documents.add(guid)
    await watched.beforeSubscribe(guid)
    return subscribe(guid)
  }
  bus.unsubscribe = (guid) => {
    documents.delete(guid)
    return unsubscribe(guid)
  }
  bus.addUser = (uid) => {
    users.add(uid)
    return addUser(uid)
  }
  bus.removeUser = (uid) => {
    users.delete(uid)
    return removeUser(uid)
  }
  return watched
}

/**
 * Waits until no state of any client is left.
 * @param {Awaited<ReturnType<typeof import('./embedded.js').startEmbedded>>} server
 * @param {ReturnType<typeof watchBus>} watched created before the first client
 */
export async function nothingLeft ({ gateway, metrics }, { documents, users }) {
  const { io, engine } = gateway
  const waiting = /** @type {any} */ (io.sockets)._preConnectSockets
  const look = async () => {
    await metrics.collect()
    return {
      transports: engine.clientsCount,
      connections: gateway.connections,
      sockets: io.sockets.sockets.size,
      waiting: waiting.size,
      rooms: io.sockets.adapter.rooms.size,
      feeds: (await metrics.documents.get()).values[0].value,
      documents: documents.size,
      users: users.size
    }
  }
  let last = await look()
  await waitFor(async () => Object.values(last = await look()).every((count) => count === 0), { message: () => last })
  assert.ok(true)
}

/**
 * Checks that a client is not affected by what others do.
 * @param {Awaited<ReturnType<typeof import('./clients.js').connectClient>>} client
 */
export async function stillServed (client) {
  const guid = `still-served-${Math.random()}`
  assert.equal((await client.ask('doc:join', { guid })).ok, true)
  assert.equal((await client.ask('doc:leave', { guid })).ok, true)
}
