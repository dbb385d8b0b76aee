import { randomUUID } from 'node:crypto'

/** Bytes of an answer. */
const CHUNK = 262_144
/** Time in which a client that reads a snapshot in several answers asks for the next one, ms. */
const KEPT = 60_000
/** Bytes of snapshots that are being read. The oldest ones go first, and their readers begin again. */
const MAX_BYTES = 128 * 1024 * 1024

/** @typedef {import('./inkcast.js').Position} Position */
/** @typedef {{ guid: string, update: Uint8Array, position: Position | null, usedAt: number }} Snapshot */
/**
 * @typedef {{ version: string, size: number, position: Position | null, bytes: Uint8Array }} Chunk
 */

/** Documents in several answers, each of one state. */
export class Snapshots {
  /** The oldest first. @type {Map<string, Snapshot>} */
  #kept = new Map()
  #bytes = 0

  /**
   * The first answer.
   * @param {string} guid @param {{ update: Uint8Array | null, position: Position | null }} document @returns {Chunk}
   */
  begin (guid, { update, position }) {
    if (update === null) return { version: '', size: 0, position, bytes: new Uint8Array() }
    if (update.length <= CHUNK) return { version: '', size: update.length, position, bytes: update }
    // readers that begin together share it
    let version = [...this.#kept].find(([, one]) => one.guid === guid && one.update === update)?.[0]
    if (version === undefined || this.#kept.get(version)?.position !== position) {
      version = randomUUID()
      this.#kept.set(version, { guid, update, position, usedAt: performance.now() })
      this.#bytes += update.length
      this.#makeRoom()
    }
    return { version, size: update.length, position, bytes: update.subarray(0, CHUNK) }
  }

  /**
   * @param {string} guid @param {string} version @param {number} from
   * @returns {Chunk | null} null: the client begins again
   */
  next (guid, version, from) {
    const found = this.#kept.get(version)
    if (found === undefined || found.guid !== guid) return null
    found.usedAt = performance.now()
    const { update, position } = found
    return { version, size: update.length, position, bytes: update.subarray(from, from + CHUNK) }
  }

  #makeRoom () {
    const now = performance.now()
    for (const [version, { update, usedAt }] of this.#kept) {
      const isNeeded = now - usedAt < KEPT && this.#bytes <= MAX_BYTES
      if (isNeeded || this.#kept.size === 1) continue
      this.#kept.delete(version)
      this.#bytes -= update.length
    }
  }
}
