/**
 * A tab, as the hub sees it: decodes what the tab sends, and encodes what is sent to it, as Socket.IO does.
 *
 * @typedef {{ type: number, data?: any, id?: number, nsp?: string }} Packet of Socket.IO
 */

/** Socket.IO's numbers of packets. */
export const PACKET = { connect: 0, disconnect: 1, event: 2, ack: 3, refused: 4 }
/** Maximum messages that a tab has not read. A tab with more reconnects, from its position. */
const MAX_UNREAD = 5000

/** @type {any} */
const browser = globalThis

export class HubTab {
  /** Content of its handshake; undefined: there is none yet. @type {any} */
  auth
  /** Whether its handshake was accepted. */
  connected = false
  /** Place in the log of the user that it has reached; undefined: it does not read the log. @type {any} */
  user
  #id
  #channel
  #manager
  #onEnd
  #unread = 0
  #closing = new AbortController()

  /**
   * @param {object} options
   * @param {string} options.name of the connection
   * @param {string} options.id
   * @param {any} options.manager Socket.IO's
   * @param {(tab: HubTab, packet: Packet) => void} options.onPacket
   * @param {(tab: HubTab, isDrop: boolean) => void} options.onEnd isDrop: the client drops its connection
   */
  constructor ({ name, id, manager, onPacket, onEnd }) {
    this.#id = id
    this.#manager = manager
    this.#onEnd = onEnd
    const decoder = new manager.decoder.constructor()
    decoder.on('decoded', (/** @type {Packet} */ packet) => onPacket(this, packet))
    this.#channel = new browser.BroadcastChannel(`${name} ${id}`)
    this.#channel.onmessage = (/** @type {any} */ { data: message }) => {
      if (message.data !== undefined) decoder.add(message.data)
      else if (message.read) this.#unread -= message.read
      else this.end(true)
    }
    // granted when the tab is gone, in whatever way
    const { signal } = this.#closing
    browser.navigator.locks.request(`${name} ${id}`, { signal }, () => this.end()).catch(() => {})
  }

  /** @param {{ hub: string, client: string }} ids of the hub, and of the connection's client */
  open (ids) { this.#channel.postMessage({ open: ids }) }

  /** @param {Packet} packet */
  send (packet) { this.sendEncoded(encodeWith(this.#manager, packet)) }

  /** @param {unknown[]} messages of one packet; an answer may come after the end of the tab */
  sendEncoded (messages) {
    if (this.#closing.signal.aborted) return
    if (this.#unread >= MAX_UNREAD) return this.close()
    this.#unread += messages.length
    for (const data of messages) this.#channel.postMessage({ data })
  }

  /** There are too many tabs. */
  refuse () {
    this.#channel.postMessage({ full: true })
    this.end()
  }

  /** Ends the connection of the tab, which may connect again. */
  close () {
    this.#channel.postMessage({ bye: true })
    this.end()
  }

  /** Forgets the tab, without a message to it. @param {boolean} [isDrop] whether its client drops the connection */
  end (isDrop = false) {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    this.#channel.close()
    this.#onEnd(this, isDrop)
  }

  get id () { return this.#id }

  /** Id of its client: `client.id`. @type {string | undefined} */
  get client () { return this.auth?.client }
}

/** @param {any} manager @param {Packet} packet @returns {unknown[]} messages that can be posted */
export const encodeWith = ({ encoder }, packet) => encoder.encode({ nsp: '/', ...packet }).map((/** @type {any} */ data) =>
  ArrayBuffer.isView(data) ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data)
