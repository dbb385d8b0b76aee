/**
 * Rooms without one entry per connection. Socket.IO puts each connection into a room named after its id, so that
 * `io.to(<connection id>)` works; here such a room is derived from the id, which saves 400 bytes per connection.
 * `create-room` and `join-room` are not emitted for these rooms.
 */
class Rooms extends Map {
  /** @param {Map<string, Set<string>>} sids rooms by connection id, without its own */
  constructor (sids) {
    super()
    this.sids = sids
  }

  /** @override @param {string} room */
  has (room) { return super.has(room) || this.sids.has(room) }

  /** @override @param {string} room @returns {Set<string> | undefined} connection ids */
  get (room) { return super.get(room) ?? (this.sids.has(room) ? new Set([room]) : undefined) }
}

/** Called before the first connection. @param {any} adapter Socket.IO's */
export function spareOwnRooms (adapter) {
  const { sids } = adapter
  // Not the prototype's: the adapter may have its own (adapter.js).
  const { addAll, del } = adapter
  Object.assign(adapter, {
    rooms: new Rooms(sids),

    /** @param {string} id @param {Set<string>} rooms */
    addAll (id, rooms) {
      if (!sids.has(id)) sids.set(id, new Set())
      if (!rooms.has(id)) return addAll.call(adapter, id, rooms)
      // A new connection joins only its own.
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
