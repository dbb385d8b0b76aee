/**
 * Which pages may connect. Browsers do not apply the same-origin policy to WebSockets, so the gateway has to.
 *
 * @param {readonly string[]} allowed origins, `*` for any; none: the page's host must be the gateway's
 * @returns {(origin: string | undefined, host: string | undefined) => boolean}
 */
export function createOriginCheck (allowed) {
  const any = allowed.includes('*')
  const origins = new Set(allowed)
  return (origin, host) => {
    // not a browser
    if (origin === undefined || any || origins.has(origin)) return true
    if (allowed.length > 0) return false
    // mostly it needs no parser
    if (origin === `https://${host}` || origin === `http://${host}`) return true
    try {
      return new URL(origin).host === host
    } catch {
      return false
    }
  }
}
