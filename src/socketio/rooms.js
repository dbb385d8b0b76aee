import { createShardedAdapter } from '@socket.io/redis-adapter'

/**
 * The adapter that shares Socket.IO's rooms over all processes, for extensions that use `io.to('doc:<guid>')`.
 * Document deliveries do not take this way. `static` subscribes each worker to two channels instead of one per
 * room: a channel per room would cost every join a subscription that documents do not need
 * (docs/decisions/0002-static-room-channels.md).
 *
 * @param {{ publisher: any, subscriber: any }} redis clients, the second able to subscribe
 */
export const createRoomAdapter = ({ publisher, subscriber }) =>
  createShardedAdapter(publisher, subscriber, { channelPrefix: 'inkcast:rooms', subscriptionMode: 'static' })

/**
 * Socket.IO puts each connection into a room of its own, so that `io.to(<connection id>)` works. It works without as
 * well, and with 400 bytes less per connection: a room that nobody has made, and that has a connection's id, is its
 * own. `create-room` and `join-room` are not emitted for these.
 */
class Rooms extends Map {
  /** @param {Map<string, Set<string>>} sids rooms of each connection, without its own */
  constructor (sids) {
    super()
    this.sids = sids
  }

  /** @override @param {string} room */
  has (room) { return super.has(room) || this.sids.has(room) }

  /** @override @param {string} room @returns {Set<string> | undefined} connection ids */
  get (room) { return super.get(room) ?? (this.sids.has(room) ? new Set([room]) : undefined) }
}

/** @param {any} adapter Socket.IO's, before the first connection */
export function spareOwnRooms (adapter) {
  const { sids } = adapter
  const { addAll, del } = Object.getPrototypeOf(adapter)
  Object.assign(adapter, {
    rooms: new Rooms(sids),

    /** @param {string} id @param {Set<string>} rooms */
    addAll (id, rooms) {
      if (!sids.has(id)) sids.set(id, new Set())
      if (!rooms.has(id)) return addAll.call(adapter, id, rooms)
      // mostly no other: each connection begins with its own
      if (rooms.size > 1) return addAll.call(adapter, id, new Set([...rooms].filter((room) => room !== id)))
    },

    /** @param {string} id @param {string} room */
    del (id, room) { if (room !== id) return del.call(adapter, id, room) },

    /** @param {string} id @returns {Set<string> | undefined} */
    socketRooms (id) {
      const rooms = sids.get(id)
      return rooms && new Set([id, ...rooms])
    }
  })
}
