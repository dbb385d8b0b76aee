import { WebSocket, WebSocketServer } from 'ws'

/** ws answers each ping of a client at once, and what a client does not read that asks again and again would fill the memory. */
class PatientWebSocket extends WebSocket {
  /**
   * Who takes nothing is not told that we are there, as with our own (engine-socket.js).
   * @override @param {any} data @param {boolean} mask @param {any} done
   */
  pong (data, mask, done) { if (this.bufferedAmount === 0) super.pong(data, mask, done) }
}

/** Engine.IO's `wsEngine`, for sessions that are not ours. */
export class WebSockets extends WebSocketServer {
  /** @param {any} options */
  constructor (options) { super({ ...options, WebSocket: PatientWebSocket }) }
}
