import { isShared } from './shared-domains.js'

/**
 * An origin as people write it: `https://App.example.com:443/` stands for `https://app.example.com`, which is what browsers
 * send (RFC 6454, section 6.2). Names of schemes and hosts have no case. `https://*.example.com` is a pattern.
 */

const ANY = '*'
/** Of sandboxed frames and files. */
const OPAQUE = 'null'
/** Schemes whose hosts `URL` reads as names. */
const WEB = ['http:', 'https:']

/** @param {string} text one that has no problem @returns {string} as browsers send it; of a pattern with its `*` */
export function originOf (text) {
  if (text === ANY || text === OPAQUE) return text
  const { protocol, host } = new URL(text)
  // URL knows no host names in other schemes (capacitor://LOCALHOST), and leaves their case
  return `${protocol}//${host.toLowerCase()}`
}

/** @param {string} text @returns {string | undefined} what is wrong, with the remedy; undefined: nothing */
export function problemOfOrigin (text) {
  if (text === ANY || text === OPAQUE) return undefined
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return 'each must begin with its scheme, as https://app.example.com'
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.host === '') return 'each must be an origin, as https://app.example.com'
  if (url.username !== '' || url.password !== '') return 'each must have no user and no password'
  if (!['', '/'].includes(url.pathname) || /[?#]/.test(text))
    return 'each must end with its host and port: browsers send origins without a path'
  // of the host as URL reads it: `%2a` and a wide asterisk stand for `*`, too
  return url.host.includes('*') ? problemOfPattern(url) : undefined
}

/** @param {URL} url @returns {string | undefined} */
function problemOfPattern ({ protocol, hostname }) {
  if (!WEB.includes(protocol)) return `a pattern must begin with https:// or http://: list each origin with ${protocol}// one by one`
  const [first, ...domain] = hostname.split('.')
  if (first !== '*' || domain.some((label) => label.includes('*')))
    return 'a pattern has one *, which stands for whole labels at the beginning, as https://*.example.com'
  if (domain.length < 2)
    return 'a pattern must name your domain, as https://*.example.com: this one allows pages of strangers (* alone allows every page)'
  if (domain.includes('')) return 'each must be an origin, as https://app.example.com'
  return isShared(domain)
    ? `everybody can get a name below ${domain.join('.')}: list your own origins one by one`
    : undefined
}
