import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { createDocumentStore } from 'inkcast-client/stores'
import { useClient } from './provider.js'

/**
 * Opens a document while the component is mounted. With `load` and `reduce`, `data` is the document.
 *
 * @template {object} [Events=Record<string, any>] payloads by the names of records
 * @template {object} [Presence=Record<string, any>] state of a member
 * @template {object} [Signals=Record<string, any>] data by the names of signals
 * @template [Data=undefined]
 * @param {string} guid
 * @param {import('inkcast-client/stores').DocumentOptions<Data, Events> & { state?: Presence | undefined,
 *   throwErrors?: boolean | undefined }} [options] throwErrors: an error that ends the document goes
 *   to the nearest error boundary
 * @returns {Omit<import('inkcast-client/stores').DocumentSnapshot<Data>, 'doc'> & {
 *   doc: import('inkcast-client').Document<Events, Presence, Signals> | null }}
 */
export function useDocument (guid, options = {}) {
  const client = useClient()
  const latest = useRef(options)
  useEffect(() => { latest.current = options })
  const make = () => ({ client, guid, store: createDocumentStore(client, guid, latest, options.initial) })
  // not useMemo: a hot reload of the component would call it again, and the document would be empty
  const [kept, keep] = useState(make)
  let { store } = kept
  if (kept.client !== client || kept.guid !== guid) {
    const next = make()
    store = next.store
    keep(next)
  }
  const snapshot = useSyncExternalStore(store.subscribe, store.snapshot, store.before)
  // a failed `load` is repeated
  if (options.throwErrors && snapshot.error !== null && snapshot.status === 'closed') throw snapshot.error
  return snapshot
}
