import { useMemo, useSyncExternalStore } from 'react'
import { useClient } from './provider.js'

/** @typedef {import('inkcast-client').ClientState} ClientState */

/** @type {Readonly<{ state: ClientState, reason: import('inkcast-client').ClientError | null }>} */
const CONNECTING = Object.freeze({ state: /** @type {const} */ ('connecting'), reason: null })

/**
 * The connection, for an indicator.
 * @returns {{ state: ClientState, reason: import('inkcast-client').ClientError | null, connect: () => void }} connect:
 *   tries again now, also after a refusal
 */
export function useConnection () {
  const client = useClient()
  const store = useMemo(() => {
    let snapshot = CONNECTING
    return {
      subscribe: (/** @type {() => void} */ changed) => client?.on('state', changed) ?? (() => {}),
      snapshot () {
        const { state, reason } = client ?? CONNECTING
        if (state !== snapshot.state || reason !== snapshot.reason) snapshot = { state, reason }
        return snapshot
      },
      connect: () => client?.connect()
    }
  }, [client])
  const { state, reason } = useSyncExternalStore(store.subscribe, store.snapshot, () => CONNECTING)
  return { state, reason, connect: store.connect }
}
