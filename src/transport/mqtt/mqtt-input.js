import { MqttError, PacketReader } from './packet-reader.js'

/**
 * The protocol's part of a session of MQTT, over TCP (mqtt-socket.js) and WebSocket (mqtt-websocket.js).
 *
 * @typedef {import('../engine/stream-link.js').SessionServer & {
 *   listener: { name: string },
 *   heard: (session: MqttSession) => void,
 *   onPacket: (session: MqttSession, bytes: Buffer, from: number, to: number) => void,
 *   onWrong: (session: MqttSession, error: MqttError) => void,
 *   onEnd: (session: MqttSession, reason: string) => void }} MqttServer
 *
 * @typedef {import('../engine/stream-link.js').StreamLink & {
 *   mqttServer: MqttServer,
 *   input: MqttInput,
 *   conn: MqttSession,
 *   write: (data: undefined, options: { wsPreEncodedFrame: Buffer[] }) => void,
 *   writeLast: (bytes: Buffer) => void,
 *   leave: () => void,
 *   silence: number | undefined,
 *   handshake: Handshake }} MqttSession silence: longest time without a packet, ms
 *
 * @typedef {{ headers: import('http').IncomingHttpHeaders, query: Record<string, string>, auth: any }} Handshake the
 *   part of the login
 */

/** The handshake of a client that is admitted: the same object for all. @type {Handshake} */
export const NOTHING = Object.freeze({ headers: {}, query: {}, auth: {} })

/** Reads the packets of one session, and counts the memory of an unfinished one. */
export class MqttInput extends PacketReader {
  /** The part of `held` that is counted. */
  #counted = 0

  /** @param {MqttSession} session @param {Buffer} chunk */
  receive (session, chunk) {
    const { mqttServer: server } = session
    let heard = false
    try {
      this.read(chunk, session.maxBytes, (bytes, from, to) => {
        if (session.readyState !== 'open') return
        // once: acknowledgements come in groups
        if (!heard) server.heard(session)
        heard = true
        server.onPacket(session, bytes, from, to)
      })
    } catch (error) {
      if (!(error instanceof MqttError)) throw error
      if (session.readyState === 'open') server.onWrong(session, error)
    }
    if (session.readyState === 'closed') return this.clear()
    const more = this.held - this.#counted
    if (more === 0) return
    this.#counted = this.held
    server.inputLimits.holds(session, more)
  }
}
