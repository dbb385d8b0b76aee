/**
 * @typedef {object} Position a place in a document's log
 * @property {string} epoch id of the log. It changes when old offsets are no longer valid, mostly after a loss of the
 *   log
 * @property {number} offset grows by exactly 1 with each record
 */

/**
 * The positions of a page in its documents, kept over reloads. Written with each record: a write to sessionStorage
 * takes microseconds.
 *
 * @param {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined} storage
 * @param {string} url of the gateway
 */
export function createPositions (storage, url) {
  const keyOf = (/** @type {string} */ guid) => `inkcast ${url} ${guid}`
  return {
    /** @param {string} guid @returns {Position | null} */
    load (guid) {
      try {
        const { epoch, offset } = JSON.parse(storage?.getItem(keyOf(guid)) ?? 'null')
        return typeof epoch === 'string' && offset >= 0 ? { epoch, offset } : null
      } catch {
        return null // nothing, or not inkcast's
      }
    },

    /** @param {string} guid @param {Position | null} position null: the document was closed */
    save (guid, position) {
      try {
        if (position === null) storage?.removeItem(keyOf(guid))
        else storage?.setItem(keyOf(guid), JSON.stringify(position))
      } catch {} // the storage is full or forbidden: positions last as long as the page
    }
  }
}
