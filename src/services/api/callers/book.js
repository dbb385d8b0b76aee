import { findByDigest, isCertificateOf } from './credentials.js'
import { stillAccepts } from './issuers.js'

/** The service at UPLINK_URL, whose answers may publish. It needs no credential: inkcast calls it. */
export const WEBHOOK = 'webhook'

/**
 * The callers of one load of the settings, never changed: a reload makes another book.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} [tenant]
 * @property {import('./rights.js').Rights} rights
 * @property {import('../../../base/common/token-bucket.js').Rate | undefined} rate of all its publications
 * @property {ReadonlyMap<string, import('../../../base/common/token-bucket.js').Rate>} [rates] of single operations and
 *   operators
 *
 * @typedef {object} Contents
 * @property {readonly { digest: Buffer, entry: Entry }[]} tokens
 * @property {readonly { certificate: import('./credentials.js').CertificateSettings, entry: Entry }[]} certificates
 * @property {ReadonlyMap<string, import('./issuers.js').Issuer>} issuers by `iss`
 * @property {readonly { issuer: string, subject: string, entry: Entry }[]} subjects
 * @property {readonly Entry[]} [entries] of API_CALLERS_FILE
 */
export class Book {
  #contents

  /** @param {Contents} contents */
  constructor (contents) {
    this.#contents = contents
  }

  /** The entry of the webhook, if there is one. */
  get webhook () { return this.#contents.entries?.find(({ name }) => name === WEBHOOK) }

  /** Whether a JWT may name a caller. */
  get hasIssuers () { return this.#contents.issuers.size > 0 }

  /** @param {Buffer} digest */
  byToken (digest) { return findByDigest(this.#contents.tokens, digest) }

  /** @param {import('./credentials.js').Certificate} certificate */
  byCertificate (certificate) {
    return this.#contents.certificates.find((known) => isCertificateOf(known.certificate, certificate))?.entry
  }

  /** @param {unknown} iss */
  issuer (iss) { return this.#contents.issuers.get(/** @type {string} */ (iss)) }

  /** @param {import('./issuers.js').Verified} verified */
  byJwt (verified) {
    const issuer = this.issuer(verified.claims.iss)
    if (issuer === undefined || !stillAccepts(issuer, verified)) return undefined
    const subject = verified.claims[issuer.claim]
    return this.#contents.subjects.find((known) => known.issuer === issuer.issuer && known.subject === subject)?.entry
  }
}
