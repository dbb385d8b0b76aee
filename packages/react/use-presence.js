import { useMemo, useSyncExternalStore } from 'react'

/**
 * @template {object} Presence
 * @typedef {{ members: readonly import('inkcast-client').Member<Presence>[], count: number }} Present
 */

/** @type {Present<any>} */
const NOBODY = Object.freeze({ members: Object.freeze([]), count: 0 })

/**
 * The members present in a document that was opened with `state` or `presence`.
 *
 * @template {object} Presence
 * @param {import('inkcast-client').Document<any, Presence, any> | null} doc of useDocument
 * @returns {Present<Presence> & { setState: (state: Presence) => Promise<void> }} members: the same array until it
 *   changes; setState: what others see of this member
 */
export function usePresence (doc) {
  const store = useMemo(() => {
    const read = () => doc === null || doc.presence.count === 0
      ? NOBODY
      : { members: [...doc.presence.values()], count: doc.presence.count }
    let present = read()
    return {
      subscribe (/** @type {() => void} */ changed) {
        const update = () => {
          present = read()
          changed()
        }
        update()
        return doc?.on('presence', update) ?? (() => {})
      },
      snapshot: () => present,
      async setState (/** @type {Presence} */ state) {
        if (doc === null) throw new Error('the document is not open yet')
        await doc.setState(state)
      }
    }
  }, [doc])
  const present = useSyncExternalStore(store.subscribe, store.snapshot, () => NOBODY)
  return { ...present, setState: store.setState }
}
