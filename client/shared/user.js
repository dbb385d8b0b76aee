import { isExcepted } from './except.js'

/**
 * The log of the user: the connection reads it from the earliest place of the tabs that read it, and each tab gets what
 * follows its own place.
 *
 * @typedef {import('./hub-tab.js').HubTab} HubTab
 */

/** Events of the gateway that say where the connection is in the log: at first, later, and after a gap. */
const [OPENED, PASSED, RESYNC] = ['user', 'position', 'resync'].map((event) => `gateway:${event}`)

export class SharedUser {
  #emit
  /** Tabs whose places were in the connection's handshake. @type {Set<HubTab>} */
  #offered = new Set()
  /** Those of them whose places are in another log, until they know it. @type {Set<HubTab>} */
  #elsewhere = new Set()
  /** Place that the connection has reached: at first the one in its handshake, which is {} for "from now on". */
  #place = /** @type {any} */ ({})
  /** Whether the gateway has said where the connection is. */
  #isOpen = false

  /** @param {(tabs: HubTab[], event: unknown[]) => void} emit */
  constructor (emit) { this.#emit = emit }

  /** @param {HubTab[]} tabs @returns {{ user?: object }} a part of the connection's handshake */
  auth (tabs) {
    this.#offered = new Set(tabs.filter(({ user }) => user !== undefined))
    this.#isOpen = false
    this.#place = earliest([...this.#offered].map(({ user }) => user))
    this.#elsewhere = new Set([...this.#offered].filter(({ user }) => user && user.epoch !== this.#place.epoch))
    return this.#offered.size > 0 ? { user: this.#place } : {}
  }

  /** @param {HubTab} tab @returns {boolean} whether the connection does not read the log, or from a later place */
  lacks (tab) {
    const { user } = tab
    if (user === undefined || this.#offered.has(tab)) return false
    // before it is open as well: records between the two places would reach no tab
    return this.#offered.size === 0 || isBefore(user, this.#place)
  }

  /** @param {HubTab} tab that was admitted */
  admit (tab) {
    if (tab.user === undefined || !this.#isOpen) return
    this.#emit([tab], [OPENED, { position: this.#place, recovered: tab.user !== null }])
    tab.user = this.#place
  }

  /** @param {HubTab[]} tabs @param {string} event about the log @param {any} told */
  onEvent (tabs, event, told) {
    const { position } = told
    this.#place = position
    if (event === OPENED) this.#isOpen = true
    for (const tab of tabs.filter(({ user }) => user !== undefined)) {
      const isMissing = this.#elsewhere.has(tab) || tab.user === null
      if (event === PASSED && isMissing) continue
      // the connection continues from the place of another tab
      if (event === OPENED && this.#elsewhere.has(tab))
        this.#emit([tab], [RESYNC, { position, reason: 'epoch' }])
      this.#emit([tab], [event, isMissing && told.recovered ? { ...told, recovered: false } : told])
      tab.user = position
    }
    if (event !== PASSED) this.#elsewhere.clear()
  }

  /** @param {HubTab} tab @returns {boolean} whether the records of the log that arrive are for it */
  #reads (tab) {
    if (tab.user === undefined) return this.#isOpen // what it missed is not for it
    return tab.user !== null && !this.#elsewhere.has(tab) && isBefore(tab.user, this.#place)
  }

  /** @param {HubTab[]} tabs @param {any[]} record event, payload and meta @param {string[]} except client ids */
  onRecord (tabs, record, except) {
    const { epoch, offset } = record[2].user
    this.#place = { epoch, offset }
    const readers = tabs.filter((tab) => this.#reads(tab))
    for (const tab of readers) if (tab.user) tab.user = this.#place
    this.#emit(readers.filter((tab) => !isExcepted(tab, except)), record)
    const passed = readers.filter((tab) => tab.user && isExcepted(tab, except))
    this.#emit(passed, [PASSED, { position: this.#place }])
  }
}

/** @param {any} one place in a log @param {any} other */
const isBefore = (one, other) =>
  one !== null && (one.epoch !== other.epoch || one.offset < other.offset)

/** @param {any[]} places of the tabs; null: from now on @returns {object} where the connection begins, in one log */
const earliest = (places) => places.filter((place) => place !== null)
  .reduce((first, place) => first.epoch === undefined || (place.epoch === first.epoch && place.offset < first.offset)
    ? place
    : first, {})
