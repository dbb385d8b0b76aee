/** A request that this service cannot take now (503), or never (another status). */
export class Refusal extends Error {
  /** @param {number} status @param {string} message @param {ErrorOptions} [options] */
  constructor (status, message, options) {
    super(message, options)
    this.status = status
  }
}
