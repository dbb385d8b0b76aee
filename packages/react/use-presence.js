import { useMemo, useSyncExternalStore } from 'react'
import { createPresenceStore } from 'inkcast-client/stores'

/**
 * The members present in a document that was opened with `state` or `presence`.
 *
 * @template {object} Presence
 * @param {import('inkcast-client').Document<any, Presence, any> | null} doc of useDocument
 * @returns {import('inkcast-client/stores').PresenceSnapshot<Presence> & {
 *   setState: (state: Presence) => Promise<void>, setIdle: (idle: boolean) => Promise<void> }} members: the same array
 *   until it changes; setState, setIdle: what others see of this member
 */
export function usePresence (doc) {
  const store = useMemo(() => createPresenceStore(doc), [doc])
  const present = useSyncExternalStore(store.subscribe, store.snapshot, store.before)
  return { ...present, setState: store.setState, setIdle: store.setIdle }
}
