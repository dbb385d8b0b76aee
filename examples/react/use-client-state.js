import { useSyncExternalStore } from 'react'

/** For a connection indicator: `connected`, `reconnecting` … */
export function useClientState (client) {
  return useSyncExternalStore((changed) => client.on('state', changed), () => client.state)
}
