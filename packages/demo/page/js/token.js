/**
 * Where tokens come from: `signed` by the gateway for this page, `pasted` by the visitor, or `none` is needed. Workers
 * get it as a message.
 *
 * @typedef {{ kind: 'none' | 'signed' } | { kind: 'pasted', token: string }} TokenSource
 */

/**
 * @param {string} guid
 * @param {string} user
 * @returns {Promise<string | null>} null: the gateway signs none for this page
 */
export async function requestToken (guid, user) {
  const response = await fetch(`/token?${new URLSearchParams({ document: guid, user })}`, { cache: 'no-store' })
  return response.ok ? (await response.json()).token : null
}

/**
 * @param {TokenSource} source
 * @param {string} guid
 * @param {string} user the person's id
 * @returns {undefined | string | (() => Promise<string>)} the option `token` of `connect`
 */
export function tokenFor (source, guid, user) {
  if (source.kind === 'none') return undefined
  if (source.kind === 'pasted') return source.token
  return async () => {
    const token = await requestToken(guid, user)
    if (token === null) throw new Error('the gateway signs no token for this page any more: reload it')
    return token
  }
}
