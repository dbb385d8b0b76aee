/**
 * The value of a key. Its size in bytes is an estimate, kept with each change, because the store is bounded by it.
 *
 * @abstract
 */
export class Value {
  bytes = 0
  /** The one that counts the bytes of this value as well. @type {{ bytes: number } | undefined} */
  keyspace

  /** @param {number} bytes */
  grow (bytes) {
    this.bytes += bytes
    if (this.keyspace !== undefined) this.keyspace.bytes += bytes
  }

  /** As TYPE names it. @returns {string} */
  get type () { throw new Error('abstract') }
  /** Elements. @returns {number} */
  get size () { throw new Error('abstract') }
  /** All of it, as plain data. @returns {unknown} */
  get content () { throw new Error('abstract') }
  /** @param {any} _content of a value of this type; this one is empty */
  fill (_content) { throw new Error('abstract') }
}
