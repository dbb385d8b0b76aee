import { InkcastError } from '../../../base/common/errors.js'

/**
 * A caller who was identified. The credential is looked up again after each reload of the settings, because a stream
 * may be open for days.
 *
 * @typedef {import('./book.js').Book} Book
 * @typedef {import('./book.js').Entry} Entry
 */
export class Caller {
  #book
  #entry
  #find
  #expiresAt
  #key

  /**
   * @param {Book} book
   * @param {Entry} entry
   * @param {object} [credential]
   * @param {(book: Book) => Entry | undefined} [credential.find] the caller that it names
   * @param {number} [credential.expiresAt] ms since 1970
   * @param {import('../../../people/auth/keys.js').VerificationKey} [credential.key] that verified it
   */
  constructor (book, entry, { find = () => entry, expiresAt = Infinity, key } = {}) {
    this.name = entry.name
    this.#book = book
    this.#entry = entry
    this.#find = find
    this.#expiresAt = expiresAt
    this.#key = key
  }

  /**
   * @param {Book} book the one in force
   * @param {Pick<import('../../../base/common/clock.js').Clock, 'now'>} clock
   * @returns {Entry} the caller's
   * @throws {InkcastError} unauthorized, token_expired
   */
  entryIn (book, clock) {
    if (this.#book !== book) {
      const entry = this.#find(book)
      if (entry?.name !== this.name) throw noLonger()
      this.#entry = entry
      this.#book = book
    }
    if (this.#expiresAt !== Infinity && clock.now() >= this.#expiresAt) throw new InkcastError('token_expired')
    if (this.#key !== undefined && this.#key.withdrawnAt !== null) throw noLonger()
    return this.#entry
  }
}

const noLonger = () => new InkcastError('unauthorized', 'the credential is no longer one of a caller of this api')
