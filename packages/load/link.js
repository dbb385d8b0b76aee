/**
 * The connection of a light client in one of the protocols: socketio-link.js, plain-link.js and mqtt-link.js open it,
 * log in, open the documents, and answer pings. The client (client.js) counts and checks what they tell it.
 *
 * @typedef {import('./websocket.js').Target} Target
 * @typedef {import('./packets.js').LoadRecord} LoadRecord
 * @typedef {{ epoch: string, offset: number }} Position
 *
 * @typedef {{ subscribed: boolean }} Session of MQTT, on the server; subscribed: it has confirmed the subscriptions
 *
 * @typedef {object} Wish what a client wants of its connection
 * @property {Target} target
 * @property {string} [source] local address
 * @property {string} id of the client, its own in this run
 * @property {string} [token]
 * @property {boolean} msgpack
 * @property {boolean} polling
 * @property {boolean} resume it continues from its positions after a reconnect
 * @property {boolean} everyone there are records to everyone
 * @property {string[]} documents guids
 * @property {(guid: string) => Position | undefined} positionOf the last record that it has; undefined: from now on
 * @property {Session} session kept across the connections of a client
 *
 * @typedef {object} Events not called after `close`
 * @property {(patience: number) => void} onConnected it gets records to everyone; patience: ms after which a silent
 *   client is removed
 * @property {(guid: string) => void} onJoined
 * @property {(guid: string, position: Position) => void} onPosition records up to there do not come
 * @property {(record: LoadRecord) => void} onRecord
 * @property {(reason: string) => void} onEnd called once
 *
 * @typedef {object} Link
 * @property {(ack: number) => void} acknowledge a receipt
 * @property {(event: string, data: any) => void} emit an event of the protocol (docs/protocol.md): `doc:join`,
 *   `doc:leave`, `doc:send` or `doc:signal`; its answer is ignored
 * @property {() => void} silence pings are not answered any more, or not sent
 * @property {(back: boolean) => void} close back: the client comes back
 */
import { openMqtt } from './mqtt-link.js'
import { openPlain } from './plain-link.js'
import { openSocketio } from './socketio-link.js'

/** @type {Record<import('./plan.js').Protocol, (wish: Wish, events: Events) => Link>} */
export const LINKS = { socketio: openSocketio, ws: openPlain, mqtt: openMqtt }
