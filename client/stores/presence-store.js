/**
 * @template {object} Presence
 * @typedef {object} PresenceSnapshot
 * @property {readonly import('../index.js').Member<Presence>[]} members the same array until it changes
 * @property {number} count
 */

/** @type {PresenceSnapshot<any>} */
export const EMPTY = Object.freeze({ members: Object.freeze([]), count: 0 })

/**
 * The members present in a document that was opened with `state` or `presence`.
 *
 * @template {object} Presence
 * @param {import('../index.js').Document<any, Presence, any> | null} doc
 */
export function createPresenceStore (doc) {
  const read = () => doc === null || doc.presence.count === 0
    ? EMPTY
    : { members: [...doc.presence.values()], count: doc.presence.count }
  let snapshot = read()
  return {
    /** @param {() => void} changed @returns {() => void} */
    subscribe (changed) {
      const update = () => {
        snapshot = read()
        changed()
      }
      update()
      return doc?.on('presence', update) ?? (() => {})
    },
    /** @returns {PresenceSnapshot<Presence>} */
    snapshot: () => snapshot,
    before: () => EMPTY,
    /** @param {Presence} state what others see of this member */
    async setState (state) {
      if (doc === null) throw new Error('the document is not open yet')
      await doc.setState(state)
    },
    /** @param {boolean} idle whether others see this member as idle */
    async setIdle (idle) {
      if (doc === null) throw new Error('the document is not open yet')
      await doc.setIdle(idle)
    }
  }
}
