import { useMemo, useSyncExternalStore } from 'react'
import { createConnectionStore } from 'inkcast-client/stores'
import { useClient } from './provider.js'

/**
 * The connection, for an indicator.
 * @returns {import('inkcast-client/stores').ConnectionSnapshot & { connect: () => void }} connect: tries again now,
 *   also after a refusal
 */
export function useConnection () {
  const client = useClient()
  const store = useMemo(() => createConnectionStore(client), [client])
  const { state, reason } = useSyncExternalStore(store.subscribe, store.snapshot, store.before)
  return { state, reason, connect: store.connect }
}
