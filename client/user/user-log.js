import { Emitter } from '../common/emitter.js'
import { positionOf } from '../document/positions.js'

/** Its name among the stored positions: no guid has a control character. */
const NAME = '\u0001user'

/**
 * The log of the user: records that services publish to the user with `x-keep: true`, such as notifications. Each
 * record arrives once and in order, also across reconnects. Created by `client.user`.
 */
export class UserLog {
  #emitter = new Emitter()
  #positions
  /** @type {import('../types.js').Position | null} */
  #position

  /**
   * @internal
   * @param {import('socket.io-client').Socket} socket
   * @param {ReturnType<typeof import('../document/positions.js').createPositions>} positions
   */
  constructor (socket, positions) {
    this.#positions = positions
    this.#position = positions.load(NAME)
    for (const event of ['user', 'resync', 'position']) {
      socket.on(`gateway:${event}`, (told) => {
        this.#reached(told.position)
        if (event !== 'position') this.#emitter.emit(event === 'user' ? 'open' : event, told)
      })
    }
  }

  /**
   * Position of this client in the log; null before the first connection. To continue from a position that you stored,
   * assign it right after `connect`: it throws `bad_request` for what is no position.
   *
   * @returns {import('../types.js').Position | null}
   */
  get position () { return this.#position && { ...this.#position } }
  set position (position) { this.#position = positionOf(position) }

  /**
   * Listens to `open` (once per connection, after the missed records), to `resync` (missed records are no longer in the
   * log: load them from your service), or to records by event name. Records named `open` and `resync` are emitted as
   * `record:open` and `record:resync`.
   *
   * @overload
   * @param {'open'} event
   * @param {(opened: { position: import('../types.js').Position, recovered: boolean }) => void} listener recovered: all
   *   records since the client's position were delivered
   * @returns {() => void} removes the listener
   */
  /**
   * @overload
   * @param {'resync'} event
   * @param {(resync: import('../types.js').Resync) => void} listener
   * @returns {() => void} removes the listener
   */
  /**
   * @overload
   * @param {string} event
   * @param {import('../types.js').Listener<any>} listener
   * @returns {() => void} removes the listener
   */
  /**
   * @param {string} event
   * @param {Function} listener
   * @returns {() => void}
   */
  on (event, listener) { return this.#emitter.on(event, listener) }

  /** @param {string} event @param {Function} listener */
  off (event, listener) { this.#emitter.off(event, listener) }

  /** @internal @param {string} event @param {unknown} payload @param {import('../types.js').Meta} meta with `user` */
  _onRecord (event, payload, meta) {
    this.#reached({ .../** @type {import('../types.js').Position} */ (meta.user) })
    this.#emitter.emit(/^(open|resync)$/.test(event) ? `record:${event}` : event, payload, meta)
  }

  /** @internal */
  _clear () { this.#emitter.clear() }

  /** @param {import('../types.js').Position} position */
  #reached (position) {
    this.#position = position
    this.#positions.save(NAME, position)
  }
}
