/**
 * For `node --import`: a private hook (src/socketio/handshake-hooks.js) that no longer does what it is for, so that the public
 * paths are taken.
 */
import { breakSendFrame } from './broken-hooks.js'

breakSendFrame()
