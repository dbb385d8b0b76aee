/**
 * @typedef {object} ConnectionSnapshot
 * @property {import('../index.js').ClientState} state
 * @property {import('../index.js').ClientError | null} reason as that of the client
 */

/** Before there is a client. @type {Readonly<ConnectionSnapshot>} */
export const CONNECTING = Object.freeze({ state: /** @type {const} */ ('connecting'), reason: null })

/**
 * The connection, for an indicator.
 *
 * @param {import('../index.js').Client | null} client
 */
export function createConnectionStore (client) {
  let snapshot = CONNECTING
  return {
    /** @param {() => void} changed @returns {() => void} */
    subscribe: (changed) => client?.on('state', changed) ?? (() => {}),
    /** @returns {ConnectionSnapshot} the same object until it changes */
    snapshot () {
      const { state, reason } = client ?? CONNECTING
      if (state !== snapshot.state || reason !== snapshot.reason) snapshot = { state, reason }
      return snapshot
    },
    before: () => CONNECTING,
    /** Tries again now, also after a refusal. */
    connect: () => client?.connect()
  }
}
