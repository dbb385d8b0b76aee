/**
 * Values of replies. Byte strings are JavaScript strings with one character per byte (latin1), everywhere in the store.
 * A reply is: a string (bulk), a number or bigint (integer), null, an array of replies, or one of these classes.
 *
 * @typedef {string | number | bigint | null | Status | ErrorReply | MapReply | Double | SetReply | Push | Verbatim |
 *   NullArray | Reply[]} Reply
 */

/** A simple string, such as OK. */
export class Status {
  /** @param {string} text */
  constructor (text) { this.text = text }
}

/** Commands throw it or return it; its message has no `-`: `ERR syntax error`. */
export class ErrorReply extends Error {}

/** A map with RESP3, a flat array with RESP2. */
export class MapReply {
  /** @param {Reply[]} flat key, value, key, value … */
  constructor (flat) { this.flat = flat }
}

/** A double with RESP3, a bulk string with RESP2. */
export class Double {
  /** @param {number} value */
  constructor (value) { this.value = value }
}

/** A set with RESP3, an array with RESP2. */
export class SetReply {
  /** @param {Reply[]} items */
  constructor (items) { this.items = items }
}

/** A push with RESP3, an array with RESP2. */
export class Push {
  /** @param {Reply[]} items */
  constructor (items) { this.items = items }
}

/** A text for people: verbatim with RESP3, a bulk string with RESP2. */
export class Verbatim {
  /** @param {string} text */
  constructor (text) { this.text = text }
}

/** null with RESP3, the null array with RESP2 (null itself is the null bulk string). */
export class NullArray {}

export const OK = new Status('OK')
export const NULL_ARRAY = new NullArray()
