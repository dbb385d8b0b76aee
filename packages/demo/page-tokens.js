/** Lifetime of a token, s: the page requests the next one by itself. */
const TTL = 300
/** Users of the demo have names of their own, so that no token is valid for a user of the application. */
const PREFIX = 'demo:'
/** Of the page's own id for a person, characters. */
const MAX_NAME = 64

/** @typedef {import('../../src/config/load.js').Config['auth']} Settings */
/** @typedef {Pick<Settings, 'allowAnonymous' | 'secret' | 'issuers' | 'audiences'>} Auth */

/**
 * Signs tokens for the demo, each for one document; in development only.
 *
 * @param {Pick<import('./index.js').Inkcast, 'signClaims'>} inkcast
 * @param {Auth} auth
 * @returns {((user: string, guid: string) => string | null) | undefined} null: not for this document; undefined: no
 *   token is needed, or there is no AUTH_JWT_SECRET to sign with
 */
export function createTokenSigner ({ signClaims }, auth) {
  const { allowAnonymous, secret: key } = auth
  if (allowAnonymous || key === undefined) return undefined
  return (user, guid) => {
    // a grant of `name*` opens all documents whose ids begin with the name
    if (guid.endsWith('*')) return null
    return signClaims({ sub: `${PREFIX}${user}`, documents: [{ guid, access: 'write' }] }, auth, { key, ttl: TTL })
  }
}

/**
 * Tokens for the demo page, where the gateway needs them, for pages that this machine serves to itself. Other pages ask
 * their visitor for a token.
 *
 * @param {import('./index.js').Inkcast} inkcast
 * @param {Auth} auth
 */
export function createPageTokens (inkcast, auth) {
  const { isId, isLocalRequest, targetOf } = inkcast
  const sign = createTokenSigner(inkcast, auth)

  return {
    /** For the page: how to make a token; null: it needs none. */
    command: auth.allowAnonymous ? null : `npx inkcast token${auth.secret === undefined ? ' --key private.pem' : ''}`,

    /**
     * `GET /token?document=…&user=…`. No token is not an error: the page then shows its field for one.
     * @param {import('node:http').IncomingMessage} req
     * @returns {{ token: string | null }}
     */
    answer (req) {
      if (sign === undefined || !isLocalRequest(req)) return { token: null }
      const query = targetOf(req)?.query
      const guid = query?.get('document')
      const user = query?.get('user') ?? ''
      if (!isId(guid) || !isId(user) || user.length > MAX_NAME) return { token: null }
      return { token: sign(user, guid) }
    }
  }
}
