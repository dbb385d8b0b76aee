import { createSigner } from 'fast-jwt'

/**
 * Signs a token that the gateway with these settings accepts; for development. `iss` and `aud` are the first ones that
 * it accepts.
 *
 * @param {Record<string, unknown>} claims
 * @param {Readonly<{ issuers: readonly string[], audiences: readonly string[] }>} settings config.auth
 * @param {{ key: string | Buffer, ttl: number, kid?: string }} signature ttl: s
 * @returns {string}
 * @throws {Error} the key cannot sign
 */
export function signClaims (claims, { issuers, audiences }, { key, ttl, kid }) {
  const sign = createSigner({ key, expiresIn: ttl * 1000, ...(kid === undefined ? {} : { kid }) })
  return sign({
    ...claims,
    ...(issuers.length > 0 ? { iss: issuers[0] } : {}),
    ...(audiences.length > 0 ? { aud: audiences[0] } : {})
  })
}
