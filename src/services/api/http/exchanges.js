/**
 * The exchanges (a request and its response) of each connection. Node creates the responses of pipelined requests at
 * once and writes them one after the other. When the connection ends, only the response that is being written emits
 * `close`; the others never do, so what they hold is released here.
 *
 * @typedef {object} Connection
 * @property {Set<() => void>} open ends of its exchanges
 * @property {Promise<void>} last
 *
 * @typedef {object} Exchange
 * @property {number} pipelined exchanges before it on this connection that have not ended
 * @property {Promise<void>} before resolves when the exchange before it has ended
 * @property {Promise<void>} ended resolves when its response was written, or its connection has ended
 */
export class Exchanges {
  /** @type {WeakMap<import('node:net').Socket, Connection>} */
  #connections = new WeakMap()

  /**
   * Call it when the request arrives.
   * @param {import('node:net').Socket} socket
   * @param {import('node:http').ServerResponse} response
   * @returns {Exchange}
   */
  begin (socket, response) {
    const connection = this.#connections.get(socket) ?? this.#add(socket)
    const { open, last: before } = connection
    const pipelined = open.size
    const ended = new Promise((/** @type {(value: void) => void} */ resolve) => {
      const end = () => {
        open.delete(end)
        resolve()
      }
      open.add(end)
      response.once('close', end)
    })
    connection.last = ended
    return { pipelined, before, ended }
  }

  /** @param {import('node:net').Socket} socket @returns {Connection} */
  #add (socket) {
    /** @type {Connection} */
    const connection = { open: new Set(), last: Promise.resolve() }
    this.#connections.set(socket, connection)
    socket.once('close', () => { for (const end of connection.open) end() })
    return connection
  }
}
