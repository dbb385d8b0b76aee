import { Deadlines } from './deadlines.js'

/**
 * How the bytes of a connection reach whoever has it: first those who wait for its first bytes, then a session. The
 * listeners are the same functions for all connections.
 *
 * @typedef {object} Reader
 * @property {(chunk: Buffer, netSocket: import('net').Socket) => void} received
 * @property {(netSocket: import('net').Socket) => void} ended called when nothing more will come; more than once
 */

const kReader = Symbol('reader')

/**
 * Clients close what we have closed within a second or so. Whoever opens and is refused again and again must not take
 * all descriptors.
 */
const MAX_CLOSING = 8192
/** Those we have closed, and whose client has not: as long as ws waits. */
export const closing = new Deadlines(30_000, MAX_CLOSING)

/** @this {any} net.Socket @param {Buffer} chunk */
function onData (chunk) { this[kReader].received(chunk, this) }

/** The client will send no more. @this {any} net.Socket */
function onEnd () {
  this[kReader].ended(this)
  this.end()
  // it may send no more and read nothing either
  if (this.writableLength > 0) closing.add(this)
}

/** `close` follows. @this {any} net.Socket */
function onError () { this.destroy() }

/** @this {any} net.Socket */
function onClose () {
  closing.delete(this)
  this[kReader].ended(this)
}

/**
 * @param {any} netSocket
 * @param {Reader} reader from now on
 */
export function setReader (netSocket, reader) {
  if (netSocket[kReader] === undefined)
    netSocket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  netSocket[kReader] = reader
}

/** @param {any} netSocket @returns {Reader | undefined} who has it */
export const readerOf = (netSocket) => netSocket[kReader]

/** Nobody here has it any more. @param {any} netSocket */
export function removeReader (netSocket) {
  netSocket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
  netSocket[kReader] = undefined
}
