import { Socket } from 'engine.io'
import { PING, PING_OPTIONS, unsentOf } from './link.js'
import { rememberListeners } from './made-with.js'
import { admitPolling, boundPolling } from './poll-body.js'
import { lightRequest } from './request.js'
import { belongsTo } from './websockets.js'

/** The first listener to the end of a session, the same for all. @this {any} Engine.IO's Socket */
export function onEnded () { this.server.ended(this) }

/** Link (link.js) as methods of Engine.IO's Socket. @type {ThisType<any> & import('./link.js').Link} */
const methods = {
  begin (light) {
    const [first, ...others] = this.rawListeners('close')
    // Engine.IO's server has a closure for each session. If there is another listener, any of them may be its own.
    if (others.length === 0) this.off('close', first)
    this.on('close', onEnded)
    if (this.transport.name === 'websocket') return belongsTo(this.transport.socket, this)
    boundPolling(this)
    if (light) this.request = lightRequest(this.request)
  },

  admit () {
    admitPolling(this)
  },

  // With nothing queued the order is the same: the kernel has accepted everything that was written before.
  writeFrames (frames) {
    const { transport } = this
    if (transport.name !== 'websocket' || !transport.writable || this.upgrading || this.writeBuffer.length > 0)
      return false
    const ws = transport.socket
    if (ws.readyState !== 1 || ws._socket.writableLength > 0) return false
    ws._sender.sendFrame([frames])
    return true
  },

  unsentBytes () { return unsentOf(this.transport.socket?._socket) },

  closeWith (code, reason) {
    this.transport.socket.close(code, reason)
    this.close(true)
  },

  sendPing () { if (!this.writeFrames(PING)) this.sendPacket('ping', undefined, PING_OPTIONS) },

  stopTimers () {
    clearTimeout(this.pingIntervalTimer)
    // each pong would restart the timer
    this.pingIntervalTimer = null
  },

  terminate (reason = 'transport close') {
    const { transport } = this
    // Engine.IO would wait 30 s for one more poll, and ws for a close frame, each with a timer
    transport.discard()
    this.onClose(reason)
    if (transport.name === 'websocket') transport.socket.terminate()
  }
}

/** Gives Engine.IO's own Socket the methods of Link, once per process. */
export function extendEngineIoSocket () {
  for (const [name, value] of Object.entries(methods))
    Object.defineProperty(Socket.prototype, name, { value, configurable: true, writable: true })
}

const { setTransport } = /** @type {any} */ (Socket.prototype)

/** Remembers the listeners that Engine.IO's Socket adds to a WebSocket transport. */
export function rememberTransports () {
  Object.assign(Socket.prototype, {
    /** @this {any} @param {any} transport */
    setTransport (transport) {
      const isNew = transport.name === 'websocket' && transport.eventNames().length === 0
      setTransport.call(this, transport)
      if (isNew) rememberListeners(transport)
    }
  })
}
