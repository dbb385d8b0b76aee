/** Cached peer of a net.Socket whose address was not requested yet. */
const UNASKED = Object.freeze({})

/**
 * Engine.IO reads the address of each client that connects, a system call: defers it until `addressOf` is called.
 * @param {any} netSocket
 */
export function deferAddress (netSocket) { netSocket._peername ??= UNASKED }

/** @param {any} netSocket of a request @returns {string | undefined} address of its client */
export function addressOf (netSocket) {
  if (netSocket?._peername === UNASKED) netSocket._peername = undefined
  return netSocket?.remoteAddress
}
