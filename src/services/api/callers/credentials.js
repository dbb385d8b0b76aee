import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * What a caller shows to be known: the hash of a token, or a client certificate. JWTs are in issuers.js.
 */

/** @param {string} token */
export const digestOf = (token) => createHash('sha256').update(token).digest()

/**
 * Hashes have one length and no common beginnings, and all of them are compared: the time tells nothing.
 *
 * @template T
 * @param {readonly { digest: Buffer, entry: T }[]} known
 * @param {Buffer} digest
 * @returns {T | undefined} the first one with this token
 */
export function findByDigest (known, digest) {
  /** @type {T | undefined} */
  let found
  for (const { digest: own, entry } of known) if (timingSafeEqual(own, digest)) found ??= entry
  return found
}

/**
 * A client certificate as node:tls shows it (`getPeerCertificate`); the door has verified it.
 *
 * @typedef {object} Certificate
 * @property {Record<string, string | string[] | undefined>} subject attributes by their short name, such as CN
 * @property {string} [subjectaltname]
 */
/** @typedef {{ subject?: Record<string, string>, san?: string }} CertificateSettings one of both */

/**
 * @param {CertificateSettings} settings
 * @param {Certificate} certificate
 * @returns {boolean} whether every attribute is the same, or the alternative name is one of the certificate's
 */
export function isCertificateOf ({ subject, san }, certificate) {
  if (subject !== undefined)
    return Object.entries(subject).every(([name, value]) => certificate.subject?.[name] === value)
  return alternativeNames(certificate.subjectaltname ?? '').includes(/** @type {string} */ (san))
}

/**
 * Node writes `DNS:a, URI:b`, and a value that could be mistaken for two in quotes.
 * @param {string} text
 * @returns {string[]}
 */
function alternativeNames (text) {
  return (text.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g) ?? []).map((name) => name.trim())
}
