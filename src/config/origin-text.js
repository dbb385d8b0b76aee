/**
 * An origin as people write it: `https://App.example.com:443/` stands for `https://app.example.com`, which is what browsers
 * send (RFC 6454, section 6.2). Names of schemes and hosts have no case.
 */

const ANY = '*'
/** Of sandboxed frames and files. */
const OPAQUE = 'null'

/** @param {string} text one that has no problem @returns {string} as browsers send it */
export function originOf (text) {
  if (text === ANY || text === OPAQUE) return text
  const { protocol, host } = new URL(text)
  // URL knows no host names in other schemes (capacitor://LOCALHOST), and leaves their case
  return `${protocol}//${host.toLowerCase()}`
}

/** @param {string} text @returns {string | undefined} what is wrong, with the remedy; undefined: nothing */
export function problemOfOrigin (text) {
  if (text === ANY || text === OPAQUE) return undefined
  if (text.includes('*')) return 'each must be one origin: list the origins one by one, patterns are not supported'
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return 'each must begin with its scheme, as https://app.example.com'
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.host === '') return 'each must be an origin, as https://app.example.com'
  if (url.username !== '' || url.password !== '') return 'each must have no user and no password'
  if (!['', '/'].includes(url.pathname) || /[?#]/.test(text))
    return 'each must end with its host and port: browsers send origins without a path'
  return undefined
}
