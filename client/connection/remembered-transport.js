/**
 * The transport that worked on this page, for its next load.
 * @template T
 * @param {any} manager Socket.IO's
 * @param {(storage: Storage, key: string) => T} use
 * @returns {T | undefined} undefined: there is no storage, or it is forbidden
 */
export function remembered ({ uri }, use) {
  try {
    return use(globalThis.sessionStorage, `inkcast transport ${uri}`)
  } catch {
    return undefined
  }
}
