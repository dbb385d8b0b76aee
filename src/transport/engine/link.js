import { MAIN } from '../../config/listeners.js'

/**
 * The link to one client, as admission, heartbeat and gateway use it. Sessions implement it as methods: EngineSocket
 * (polling or WebSocket), PlainSocket and those of MQTT.
 *
 * @typedef {object} Link
 * @property {(light: boolean) => void} begin called once the session is open; `light`: its request may be replaced by a
 *   smaller object
 * @property {() => void} admit the client is admitted
 * @property {(frames: Buffer) => boolean} writeFrames writes whole WebSocket frames past the write buffer. False:
 *   nothing was written, because something is queued, or the session is not on WebSocket
 * @property {() => number} unsentBytes bytes of its WebSocket that the kernel has not taken yet; 0 with polling
 * @property {(code: number, reason: string) => void} closeWith closes a WebSocket with a close code and a reason of
 *   less than 124 bytes
 * @property {() => void} sendPing
 * @property {boolean} [answersAtOnce] its round trips set the timeout of the heartbeat; default false
 * @property {(reason?: string) => void} terminate ends the session at once, without a close frame
 */

/**
 * Property of a session that holds its owner, once its client is admitted.
 *
 * @typedef {object} Owner
 * @property {() => void} tellDraining announces to the client that the worker is about to close its connection
 * @property {() => void} tooSlow closes the connection of a slow client
 * @property {(reason: string) => void} giveUp closes the connection, with a reason for the client
 */
export const kOwner = Symbol('owner')

/**
 * Property of a TCP connection, and of a session, that has the name of its listener, where that is not Socket.IO's at
 * PORT: the label `listener` of metrics.
 */
export const kListener = Symbol('listener')

/** @param {any} of a TCP connection, or a session @returns {string} */
export const listenerOf = (of) => of?.[kListener] ?? MAIN

/** Engine.IO's ping packet as a WebSocket frame. */
export const PING = Buffer.from([0x81, 1, 0x32])
export const PING_OPTIONS = { wsPreEncodedFrame: [PING], compress: false }

/** @param {any} netSocket @returns {number} bytes that the kernel has not taken yet */
export const unsentOf = (netSocket) => netSocket?._handle?.writeQueueSize ?? netSocket?.writableLength ?? 0
