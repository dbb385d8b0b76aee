import { mqttDoor } from './mqtt-door.js'
import { plainDoor } from './plain-door.js'
import { socketIoDoor } from './socketio-door.js'

/** Each way into a gateway, with each codec. @type {import('./door-client.js').Door[]} */
export const DOORS = [
  socketIoDoor('json'), socketIoDoor('msgpack'), plainDoor('json'), plainDoor('msgpack'), mqttDoor(4), mqttDoor(5)
]

/** LISTENERS that opens them. */
export const LISTENERS = ['ws:/websocket/handshake', 'mqtt://127.0.0.1:0']
