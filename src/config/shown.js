/**
 * A setting as people may see it, in `inkcast config`, errors and logs.
 *
 * @param {string | undefined} text as it is written
 * @param {boolean} secret
 * @returns {string | undefined} without secrets: of a secret URL the address stays, of other secrets nothing; other
 *   URLs lose user, password and query, which may hold a token
 */
export function shownSetting (text, secret) {
  if (text === undefined) return undefined
  if (secret) return withoutUser(text).split(',').map((item) => addressOf(item.trim())).join(',')
  if (!text.includes('://')) return text
  const address = hasUser(text) ? withoutUser(text) : text
  return address.replace(/\?.*$/s, '?********')
}

/**
 * Up to the last @, because a password that is not percent-encoded may have a slash or a comma; of several addresses
 * the last one with a user stays. An @ after a ? may be part of a secret of the query: then only the scheme stays.
 *
 * @param {string} text @returns {string}
 */
const withoutUser = (text) => /\?.*@/s.test(text)
  ? text.replace(/:\/\/.*$/s, '://********')
  : text.replace(/:\/\/.*@/s, '://********@')

/** @param {string} text of a secret @returns {string} */
function addressOf (text) {
  if (text === '') return ''
  const [, scheme, userInfo, host, db = ''] = /^([a-z][a-z0-9+.-]*:\/\/)(?:(.*)@)?([^@/?#]*)(\/\d{1,5}$)?/i.exec(text) ?? []
  return scheme === undefined ? '********' : `${scheme}${userInfo === undefined ? '' : '********@'}${host}${db}`
}

/** @param {string} text @returns {boolean} also for a text that is no URL, because of its password for example */
function hasUser (text) {
  if (!text.includes('@')) return false
  try {
    const { username, password } = new URL(text)
    return username !== '' || password !== ''
  } catch {
    return true
  }
}
