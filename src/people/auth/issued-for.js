import { InkcastError } from '../../base/common/errors.js'

/**
 * Whether a token was issued by and for those that are expected (RFC 7519, 4.1.1 and 4.1.3). Compared character by
 * character.
 *
 * @param {any} claims of a token whose signature was verified
 * @param {object} expected
 * @param {readonly string[]} expected.issuers one of them; []: any, and none
 * @param {readonly string[]} expected.audiences at least one of them; []: any, and none
 * @throws {InkcastError} unauthorized
 */
export function checkIssuedFor ({ iss, aud }, { issuers, audiences }) {
  if (issuers.length > 0 && !issuers.includes(iss))
    throw new InkcastError('unauthorized', 'the token\'s claim iss: not an issuer that is accepted here')
  if (audiences.length > 0 && !(Array.isArray(aud) ? aud : [aud]).some((one) => audiences.includes(one)))
    throw new InkcastError('unauthorized', 'the token\'s claim aud: the token is meant for others')
}
