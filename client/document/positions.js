import { badRequest } from '../common/error.js'

/**
 * @typedef {object} Position a place in a document's log
 * @property {string} epoch id of the log. It changes when old offsets are no longer valid, mostly after a loss of the
 *   log
 * @property {number} offset grows by exactly 1 with each record
 */

/**
 * @param {any} position of the page, or stored
 * @returns {Position | null} a copy; null: there is none
 * @throws {ClientError} bad_request: it is no position
 */
export function positionOf (position) {
  if (position == null) return null
  const { epoch, offset } = position
  if (typeof epoch === 'string' && epoch.length <= 64 && Number.isSafeInteger(offset) && offset >= 0)
    return { epoch, offset }
  throw badRequest('a position must be { epoch, offset }')
}

/**
 * The methods of the browser's `Storage` that are used; apps have none.
 * @typedef {object} Kept
 * @property {(key: string) => string | null} getItem
 * @property {(key: string, value: string) => void} setItem
 * @property {(key: string) => void} removeItem
 */

/**
 * The positions of a page in its documents, kept over reloads. Written with each record: a write to sessionStorage
 * takes microseconds.
 *
 * @param {Kept | undefined} storage
 * @param {string} url of the gateway
 */
export function createPositions (storage, url) {
  const keyOf = (/** @type {string} */ guid) => `inkcast ${url} ${guid}`
  return {
    /** @param {string} guid @returns {Position | null} */
    load (guid) {
      try {
        return positionOf(JSON.parse(String(storage?.getItem(keyOf(guid)))))
      } catch {
        return null // not inkcast's
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
