import { Emitter } from '@socket.io/component-emitter'
import * as json from 'socket.io-parser'
import msgpack from 'socket.io-msgpack-parser'
import { SOCKET_IO_EVENTS } from '../wire/publication.js'

/**
 * One port for JSON and msgpack clients: a parser whose Decoder recognises the codec from a connection's first
 * packet (text is JSON, binary is msgpack; a JSON client never begins with an attachment).
 *
 * @typedef {import('../wire/packet.js').Codec} Codec
 */

/** @extends {Emitter<any, any, any>} */
class Decoder extends Emitter {
  /** @type {Codec | undefined} */
  codec
  /** @type {any} */
  #inner

  /** @param {string | Buffer} data @throws {Error} if it is no packet: Socket.IO closes the connection then */
  add (data) {
    if (this.#inner === undefined) {
      this.codec = typeof data === 'string' ? 'json' : 'msgpack'
      this.#inner = this.codec === 'json' ? new json.Decoder() : new msgpack.Decoder()
      this.#inner.on('decoded', (/** @type {import('socket.io-parser').Packet} */ packet) => {
        checkEvent(packet)
        this.emitReserved('decoded', packet)
      })
    }
    this.#inner.add(data)
  }

  destroy () { this.#inner?.destroy() }
}

/**
 * The JSON decoder refuses events that only Socket.IO itself may emit; the msgpack decoder lets them pass, and a
 * client could have the server believe in a disconnect.
 * @param {import('socket.io-parser').Packet} packet
 */
function checkEvent ({ type, data }) {
  if (type !== json.PacketType.EVENT && type !== json.PacketType.BINARY_EVENT) return
  if (typeof data[0] !== 'string' || SOCKET_IO_EVENTS.has(data[0])) throw new Error('invalid event name')
}

/** The `parser` option of the Socket.IO server. Its Encoder is JSON's until `useCodec` says otherwise. */
export const parser = { Encoder: json.Encoder, Decoder }

const encoders = { json: new json.Encoder(), msgpack: new msgpack.Encoder() }

/**
 * Engine.IO messages of a packet as a stock encoder makes them.
 * @param {Codec} codec
 * @param {object} packet
 * @returns {(string | Buffer)[]} for JSON with binary data: the text, then the attachments
 */
export const encodePacket = (codec, packet) => /** @type {any} */ (encoders[codec]).encode(packet)

/**
 * Answers a client in the codec it speaks. Called before the CONNECT reply.
 * @param {any} client Socket.IO's Client
 * @returns {Codec}
 */
export function useCodec (client) {
  const codec = /** @type {Codec} */ (client.decoder.codec ?? 'json')
  client.encoder = encoders[codec]
  return codec
}
