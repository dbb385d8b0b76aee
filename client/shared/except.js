/**
 * Which tabs a record excludes. The gateway knows the tabs of a connection by the ids of their clients (`tab` of
 * `doc:join` and `doc:send`), and names those that the record excludes in `meta.except`.
 */

/** @type {string[]} */
const NONE = []

/**
 * @param {any} meta of a record; the ids are taken out of it
 * @returns {string[]} client ids of the tabs that do not get the record
 */
export function takeExcept (meta) {
  if (!Array.isArray(meta?.except)) return NONE
  const { except } = meta
  delete meta.except
  return except
}

/** @param {import('./hub-tab.js').HubTab} tab @param {string[]} except client ids @returns {boolean} */
export const isExcepted = ({ client }, except) => client !== undefined && except.includes(client)

/** @param {import('./hub-tab.js').HubTab} tab @returns {{ tab?: string }} field by which records can exclude it */
export const tabOf = ({ client }) => client === undefined ? {} : { tab: client }
