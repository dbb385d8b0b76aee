import { plainDoor } from './plain-door.js'
import { socketIoDoor } from './socketio-door.js'

/** Each way into a gateway, with each codec. @type {import('./door-client.js').Door[]} */
export const DOORS = [socketIoDoor('json'), socketIoDoor('msgpack'), plainDoor('json'), plainDoor('msgpack')]

/** LISTENERS that opens them. */
export const LISTENERS = 'ws:/websocket/handshake'
