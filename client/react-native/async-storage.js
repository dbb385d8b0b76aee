/**
 * A store of the outbox (client/outbox/contract.js) in AsyncStorage, which outlives the app. Versions 1 to 3 of
 * AsyncStorage have these methods. Each edit is an item of its own: Android reads no item above 2 MB.
 *
 * @typedef {object} AsyncStorage
 * @property {() => Promise<readonly string[]>} getAllKeys
 * @property {(key: string) => Promise<string | null>} getItem
 * @property {(key: string, value: string) => Promise<void>} setItem
 * @property {(key: string) => Promise<void>} removeItem
 */

const PREFIX = 'inkcast-outbox'
/** Field of an object that stands for a value that JSON does not have. */
const KIND = '$inkcast'

/**
 * @param {AsyncStorage} storage
 * @returns {import('../outbox/contract.js').Store}
 */
export function asyncStorageStore (storage) {
  const nameOf = (/** @type {string} */ key, /** @type {string} */ queue, /** @type {number} */ seq) =>
    `${PREFIX} ${key} ${queue} ${seq}`
  return {
    async load (key) {
      const prefix = `${PREFIX} ${key} `
      const names = (await storage.getAllKeys()).filter((name) => name.startsWith(prefix))
      /** @type {Map<string, import('../outbox/contract.js').Stored[]>} */
      const queues = new Map()
      for (const text of await Promise.all(names.map((name) => storage.getItem(name)))) {
        if (text === null) continue // removed meanwhile
        const { queue, edit } = JSON.parse(text)
        queues.set(queue, [...queues.get(queue) ?? [], { ...edit, data: fromJson(edit.data) }])
      }
      for (const edits of queues.values()) edits.sort((a, b) => a.seq - b.seq)
      return queues
    },
    async add (key, queue, edit) {
      await storage.setItem(
        nameOf(key, queue, edit.seq), JSON.stringify({ queue, edit: { ...edit, data: toJson(edit.data) } })
      )
    },
    async remove (key, queue, seq) { await storage.removeItem(nameOf(key, queue, seq)) }
  }
}

/** @param {any} value as cloned by the outbox @returns {any} JSON @throws {TypeError} it cannot be stored */
function toJson (value) {
  if (/^(function|symbol|bigint)$/.test(typeof value)) throw new TypeError(`a ${typeof value} cannot be stored`)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Date) return { [KIND]: 'date', of: value.getTime() }
  if (value instanceof ArrayBuffer) return { [KIND]: 'bytes', of: hex(new Uint8Array(value)) }
  if (ArrayBuffer.isView(value))
    return { [KIND]: 'bytes', of: hex(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) }
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toJson(inner)]))
  return KIND in copy ? { [KIND]: 'object', of: copy } : copy
}

/** @param {any} value of `toJson` @returns {any} */
function fromJson (value) {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(fromJson)
  if (value[KIND] === 'date') return new Date(value.of ?? NaN)
  if (value[KIND] === 'bytes') return Uint8Array.from(value.of.match(/../g) ?? [], (byte) => parseInt(byte, 16))
  const fields = value[KIND] === 'object' ? value.of : value
  return Object.fromEntries(Object.entries(fields).map(([name, inner]) => [name, fromJson(inner)]))
}

/** Not base64, for which React Native has no function. @param {Uint8Array} bytes */
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
