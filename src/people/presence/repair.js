import { Backoff, retry } from '../../base/common/backoff.js'
import { IdleCheck } from '../../base/common/idle-check.js'
import { MISSING } from '../../log/bus/registry.js'
import { AGAIN } from '../workers/worker-watch.js'

/**
 * Finds lost presence diffs that no later diff follows: compares the quiet documents of a worker with the store. This
 * also detects that the store has lost its data. Then the store may have members again whose departure it has lost,
 * also of documents in which this worker has no others, and members of workers that do not exist.
 *
 * @typedef {import('./room.js').Room} Room
 */

/** Each document is compared once per cycle, ms, up to 30,000 documents. */
export const CYCLE = 15_000
/** ms */
const TICK = 250
/** Sweeps after a start or a loss of data, ms: the last one when no write of a worker that was cut off can arrive. */
const SWEEPS = [MISSING, MISSING + AGAIN]

export class Repair {
  #parts
  #check
  /** Number of the newest loss: documents that were read before it prove nothing. */
  #losses = 0
  #looking = false
  /** @type {import('../../base/common/clock.js').Timer[]} */
  #sweeping = []
  #signal

  /**
   * @param {object} parts
   * @param {ReadonlyMap<string, Room>} parts.rooms
   * @param {(guid: string) => Room} parts.roomOf creates it
   * @param {import('./contract.js').PresenceStore} parts.store
   * @param {import('./room.js').RoomDependencies['gate']} parts.gate
   * @param {number} parts.cycle ms
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {import('../../base/common/random.js').Random} parts.random
   * @param {AbortSignal} parts.signal ends it
   */
  constructor (parts) {
    this.#parts = parts
    this.#signal = parts.signal
    const { rooms, cycle, clock, gate } = parts
    this.#check = new IdleCheck({
      items: rooms,
      cycle,
      tick: TICK,
      clock,
      isIdle: (room) => room.quiet,
      isOpen: () => gate.open,
      compare: (quiet) => this.#compare(quiet)
    })
    parts.signal.addEventListener('abort', () => this.#stopSweeping(), { once: true })
  }

  /** Compares until the signal ends it; then it rejects. */
  run () {
    // the process before this one may have written members after this one has removed its others
    this.#sweepLater()
    return this.#check.run(this.#signal)
  }

  /** @param {Room[]} quiet */
  async #compare (quiet) {
    const { rooms, store, gate } = this.#parts
    try {
      const versions = await store.versions(quiet.map(({ guid }) => guid))
      gate.ok()
      return quiet.flatMap((room, i) => {
        const version = versions[i]
        const differs = () => version !== undefined && room.quiet && !room.isAt(version)
        return differs() ? [() => { if (rooms.get(room.guid) === room && differs()) room.lose('silent') }] : []
      })
    } catch (error) {
      gate.failed('versions', error)
      this.#check.hurry()
      return []
    }
  }

  /** The store may have lost its data. */
  lost () {
    // the comparison finds the missing data, and starts at once
    this.#check.hurry()
    this.#lookForLeft()
    this.#sweepLater()
  }

  #sweepLater () {
    this.#stopSweeping()
    const losses = this.#losses
    this.#sweeping = SWEEPS.map((after, i) => this.#parts.clock.timer(after, () => {
      const isLast = () => i === SWEEPS.length - 1 && losses === this.#losses
      this.#retry(() => this.#parts.store.sweep(isLast())).catch(() => {}) // stopped
    }).unref())
  }

  #stopSweeping () { for (const timer of this.#sweeping) timer.stop() }

  async #lookForLeft () {
    this.#losses++
    if (this.#looking) return
    this.#looking = true
    try {
      for (let looked = 0; looked !== this.#losses;) {
        looked = this.#losses
        const guids = await this.#retry(() => this.#parts.store.documents())
        // the comparison looks at the quiet ones with members
        for (const room of guids.map(this.#parts.roomOf)) if (room.members.length === 0 || !room.quiet) room.lose('gap')
      }
    } catch {
      // stopped
    } finally {
      this.#looking = false
    }
  }

  /** @template T @param {() => Promise<T>} attempt */
  #retry (attempt) {
    const { clock, random } = this.#parts
    return retry(attempt, { signal: this.#signal, clock, backoff: new Backoff({ min: 100, random }) })
  }
}
