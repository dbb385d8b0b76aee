/**
 * The doors of a worker besides Socket.IO's: one for each entry of LISTENERS. Their classes are loaded only for
 * protocols that the setting names.
 *
 * @typedef {import('../config/listeners.js').Listener} Listener
 *
 * @typedef {object} Door
 * @property {Listener} listener
 * @property {number} size open sessions
 * @property {() => void} close ends all sessions
 *
 * @typedef {Door & import('../transport/engine/http.js').OtherDoor & {
 *   accept?: (netSocket: import('net').Socket) => void }} OtherDoor accept: takes a connection of a protocol over TCP.
 *   It is half-open: the door closes its side when the client has closed. Absent: the protocol needs WebSockets
 *
 * @typedef {object} DoorParts parts of the worker that its doors share; the walls before a login are in `admission`
 * @property {() => string} newId of connections
 * @property {ReturnType<typeof import('./admission.js').createAdmission>} admission
 * @property {import('./handshake.js').Handshake} handshake
 * @property {import('./connection.js').ConnectionContext} connectionContext
 * @property {import('./connection-events.js').ConnectionEvents} events
 * @property {import('./local-users.js').LocalUsers} users
 * @property {import('./user-logs.js').UserLogs} userLogs
 * @property {import('../transport/heartbeat/heartbeat.js').Heartbeat} heartbeat
 * @property {Pick<import('./leaving/drain.js').Drain, 'active'>} drain
 * @property {import('../transport/socketio/undecoded.js').NoteUndecoded} undecoded
 */

/** By protocol. */
const CLASSES = {
  ws: async () => (await import('./plain/plain-door.js')).PlainDoor
}

/**
 * @typedef {keyof typeof CLASSES} Protocol
 * @typedef {Map<string, Awaited<ReturnType<typeof CLASSES[Protocol]>>>} DoorClasses by protocol
 */

/** @param {readonly Listener[]} listeners @returns {Promise<DoorClasses>} */
export async function loadDoors (listeners) {
  /** @type {DoorClasses} */
  const classes = new Map()
  for (const { protocol } of listeners)
    if (protocol in CLASSES) classes.set(protocol, await CLASSES[/** @type {Protocol} */ (protocol)]())
  return classes
}

/**
 * @param {readonly Listener[]} listeners
 * @param {DoorClasses} classes
 * @param {import('./handlers/context.js').HandlerContext} context
 * @param {DoorParts} parts
 * @returns {OtherDoor[]}
 */
export const openDoors = (listeners, classes, context, parts) => listeners.flatMap((listener) => {
  const DoorClass = classes.get(listener.protocol)
  return DoorClass === undefined ? [] : [new DoorClass(context, listener, parts)]
})
