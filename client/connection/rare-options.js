/**
 * Steps of an attempt to connect for rare options, loaded on pages that have them.
 *
 * @param {any} manager Socket.IO's
 * @param {import('./options.js').ClientOptions} options
 * @param {string | undefined} token of the next handshake
 * @param {{ constructor: Function }} connection that makes the attempt
 * @param {() => boolean} isCurrent whether the attempt has not been replaced or ended
 * @returns {Promise<any[] | undefined>} transports for Socket.IO. Default: those of the client
 */
export async function applyRareOptions (manager, options, token, connection, isCurrent) {
  // an `io` of another build may have any parser
  if (options.parser || (options.io && manager.encoder))
    manager.encoder = (await import('./msgpack.js')).exactEncoder(manager.encoder)
  return options.shared
    ? (await import('../shared/index.js')).tabTransports(manager, options, token, connection, isCurrent)
    : options.transports
}
