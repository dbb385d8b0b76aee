import http2 from 'node:http2'
import { syncBuiltinESMExports } from 'node:module'
import { CallSession } from './call-session.js'
import { currentWorld } from './now.js'

/** While a world runs, a server of HTTP/2 has the calls of `CallSession`. */

const { performServerHandshake } = http2
http2.performServerHandshake = /** @type {typeof performServerHandshake} */ ((/** @type {any} */ socket, options) =>
  currentWorld() === undefined ? performServerHandshake(socket, options) : new CallSession(socket))
syncBuiltinESMExports()
