/**
 * The connections of this worker, by connection id and by user.
 *
 * @typedef {import('./connection.js').Connection} Connection
 */
export class Directory {
  /** @type {Map<string, Connection>} */
  #connections = new Map()
  /**
   * A single connection is stored without a set: a set takes as much memory as everything else here.
   * @type {Map<string, Connection | Set<Connection>>}
   */
  #users = new Map()

  get size () { return this.#connections.size }

  /** @param {Connection} connection */
  add (connection) {
    this.#connections.set(connection.id, connection)
    const tabs = this.#users.get(connection.uid)
    if (tabs === undefined) this.#users.set(connection.uid, connection)
    else if (tabs instanceof Set) tabs.add(connection)
    else this.#users.set(connection.uid, new Set([tabs, connection]))
  }

  /** @param {Connection} connection */
  remove (connection) {
    if (!this.#connections.delete(connection.id)) return
    const tabs = this.#users.get(connection.uid)
    if (tabs instanceof Set) tabs.delete(connection)
    if (tabs === connection || (tabs instanceof Set && tabs.size === 0)) this.#users.delete(connection.uid)
  }

  /** @param {string} id */
  connection (id) { return this.#connections.get(id) }

  /** @param {string} uid @returns {Iterable<Connection>} */
  user (uid) {
    const tabs = this.#users.get(uid) ?? []
    return Symbol.iterator in tabs ? tabs : [tabs]
  }

  /** @param {string} uid */
  hasUser (uid) { return this.#users.has(uid) }

  /** @returns {Iterable<Connection>} */
  all () { return this.#connections.values() }
}
