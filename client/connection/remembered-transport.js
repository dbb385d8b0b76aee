/**
 * The transport that worked on this page, for its next load.
 * @param {any} manager Socket.IO's
 * @param {string} [worked] the transport to remember, unless it leads to the tab that remembers its own
 * @returns {string | null | undefined} the remembered one; undefined: there is no storage, or it is forbidden
 */
export function rememberedTransport ({ uri }, worked) {
  try {
    const storage = globalThis.sessionStorage
    const key = `inkcast transport ${uri}`
    if (worked && worked !== 'shared') storage.setItem(key, worked)
    return storage.getItem(key)
  } catch {
    return undefined
  }
}
