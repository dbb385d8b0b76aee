import { ErrorReply } from './resp/replies.js'
import { Hash } from './types/hash.js'
import { List } from './types/list.js'
import { SetOfStrings } from './types/set.js'
import { SortedSet } from './types/sorted-set.js'
import { Stream } from './types/stream.js'
import { Text } from './types/text.js'

/**
 * @typedef {import('./types/value.js').Value} Value
 *
 * @typedef {object} Entry
 * @property {Value} value
 * @property {number} expiresAt ms since 1970; 0: never
 *
 * @typedef {{ key: string, type: string, content: unknown, expiresAt: number }[]} KeyspaceSnapshot
 */

/** Estimate of what a key costs beside its bytes and its value. */
const KEY_BYTES = 120
/** Keys that a sweep looks at. */
const SWEPT = 2000

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'

const TYPES = { string: Text, hash: Hash, list: List, set: SetOfStrings, zset: SortedSet, stream: Stream }

/** The keys of database 0. A key whose time has come is removed when it is touched, or by a sweep. */
export class Keyspace {
  /** ms since 1970, the same for all that one command or script does. */
  now = 0
  /** Estimate of the bytes that all keys take. */
  bytes = 0
  expired = 0
  /** @type {Map<string, Entry>} */
  #entries = new Map()
  /** Those that expire. @type {Map<string, Entry>} */
  #volatile = new Map()
  /** @type {IterableIterator<[string, Entry]> | undefined} */
  #sweep

  /** Keys, with those that have expired and were not touched since. */
  get size () { return this.#entries.size }

  /** @param {string} key @returns {Entry | undefined} */
  entry (key) {
    const entry = this.#entries.get(key)
    if (entry === undefined || this.#lives(entry)) return entry
    this.delete(key)
    this.expired++
    return undefined
  }

  /**
   * @template {Value} T
   * @param {string} key
   * @param {new () => T} type
   * @returns {T | undefined}
   */
  find (key, type) {
    const entry = this.entry(key)
    if (entry === undefined) return undefined
    if (!(entry.value instanceof type)) throw new ErrorReply(WRONG_TYPE)
    return entry.value
  }

  /**
   * @template {Value} T
   * @param {string} key
   * @param {new () => T} type
   * @returns {T} a new and empty one, if there is none
   */
  findOrMake (key, type) {
    const found = this.find(key, type)
    if (found !== undefined) return found
    const value = new type()
    this.put(key, value)
    return value
  }

  /**
   * Replaces what the key has.
   * @param {string} key
   * @param {Value} value
   * @param {number} [expiresAt]
   */
  put (key, value, expiresAt = 0) {
    this.delete(key)
    const entry = { value, expiresAt: 0 }
    value.keyspace = this
    this.bytes += KEY_BYTES + key.length + value.bytes
    this.#entries.set(key, entry)
    if (expiresAt !== 0) this.expireAt(key, entry, expiresAt)
  }

  /** @param {string} key @returns {boolean} it was there */
  delete (key) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#volatile.delete(key)
    this.bytes -= KEY_BYTES + key.length + entry.value.bytes
    entry.value.keyspace = undefined
    return true
  }

  /**
   * Removes the key if nothing is left in it; to be called after elements were removed.
   * @param {string} key
   * @param {Value} value
   */
  deleteIfEmpty (key, value) {
    if (value.size === 0) this.delete(key)
  }

  /**
   * @param {string} key
   * @param {Entry} entry
   * @param {number} at 0: it does not expire any more
   */
  expireAt (key, entry, at) {
    entry.expiresAt = at
    if (at === 0) this.#volatile.delete(key)
    else this.#volatile.set(key, entry)
  }

  /** @param {Entry} entry */
  #lives ({ expiresAt }) { return expiresAt === 0 || this.now <= expiresAt }

  /** @returns {string[]} keys that have not expired. The others stay: the clock may be set back */
  keys () { return [...this.#entries].flatMap(([key, entry]) => this.#lives(entry) ? [key] : []) }

  clear () {
    this.#entries.clear()
    this.#volatile.clear()
    this.#sweep = undefined
    this.bytes = 0
  }

  /** Removes expired keys, of a limited number; the next call goes on there. */
  sweep () {
    this.#sweep ??= this.#volatile.entries()
    for (let i = 0; i < SWEPT; i++) {
      const { done, value } = this.#sweep.next()
      if (done) {
        this.#sweep = undefined
        return
      }
      this.entry(value[0])
    }
  }

  /** @returns {KeyspaceSnapshot} */
  snapshot () {
    return [...this.#entries].map(([key, { value, expiresAt }]) =>
      ({ key, type: value.type, content: structuredClone(value.content), expiresAt }))
  }

  /** @param {KeyspaceSnapshot} snapshot */
  restore (snapshot) {
    this.clear()
    for (const { key, type, content, expiresAt } of snapshot) {
      const value = new TYPES[/** @type {keyof typeof TYPES} */ (type)]()
      value.fill(/** @type {any} */ (structuredClone(content)))
      this.put(key, value, expiresAt)
    }
  }
}
