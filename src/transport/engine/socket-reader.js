import { Deadlines } from './deadlines.js'

/**
 * The reader of a connection's bytes: first the parser of its first bytes, then a session. The listeners are the same
 * functions for all connections.
 *
 * @typedef {object} Reader
 * @property {(chunk: Buffer, netSocket: import('net').Socket) => void} received
 * @property {(netSocket: import('net').Socket) => void} ended called at the end of the stream; may be called again
 * @property {Deadlines} closing of its gateway
 */

const kReader = Symbol('reader')

/**
 * Limit of connections that the gateway has closed and the client has not. Clients close theirs within about a second;
 * a client that reconnects and is refused again and again must not use up all descriptors.
 */
const MAX_CLOSING = 8192

/**
 * @param {ConstructorParameters<typeof Deadlines>[1]} clock
 * @returns {Deadlines} connections closed by the gateway and not by the client; the same timeout as in ws
 */
export const createClosing = (clock) => new Deadlines(30_000, clock, MAX_CLOSING)

/** @this {any} net.Socket @param {Buffer} chunk */
function onData (chunk) { this[kReader].received(chunk, this) }

/** The client has ended its side. @this {any} net.Socket */
function onEnd () {
  this[kReader].ended(this)
  // Node makes an error with a stack for each call after the first one: a tenth of what a connection costs to close
  if (!this.writableEnded) this.end()
  // A client that has ended its side may have stopped reading as well.
  if (this.writableLength > 0) this[kReader].closing.add(this)
}

/** `close` follows. @this {any} net.Socket */
function onError () { this.destroy() }

/** @this {any} net.Socket */
function onClose () {
  this[kReader].closing.delete(this)
  this[kReader].ended(this)
}

/**
 * @param {any} netSocket
 * @param {Reader} reader replaces the one before
 */
export function setReader (netSocket, reader) {
  if (netSocket[kReader] === undefined)
    netSocket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  netSocket[kReader] = reader
}

/** @param {any} netSocket @returns {Reader | undefined} */
export const readerOf = (netSocket) => netSocket[kReader]

/**
 * Ignores the rest of a connection that is closed here.
 * @param {any} netSocket
 * @param {Deadlines} closing
 */
export function ignoreRest (netSocket, closing) { netSocket[kReader] = { received () {}, ended () {}, closing } }

/** Returns the connection to Node. @param {any} netSocket */
export function removeReader (netSocket) {
  netSocket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
  netSocket[kReader] = undefined
}
