/**
 * A door: the implementation of a protocol besides Socket.IO's, for one entry of LISTENERS. Its class is made with the
 * context of handlers, the listener and these parts.
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
 * @property {import('./client-sessions.js').ClientSessions} clientSessions
 */
export {}
