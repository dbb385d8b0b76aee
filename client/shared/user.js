import { isExcepted } from './except.js'

/**
 * The log of the user: the connection reads it from the earliest place of the tabs that read it, and each tab gets what
 * follows its own place.
 *
 * @typedef {import('./hub-tab.js').HubTab} HubTab
 */

/** Events of the gateway that say where the connection is in the log, at first and later. */
const [OPENED, PASSED] = ['user', 'position']

export class SharedUser {
  #emit
  #reads = false
  /** Place that the connection has reached. @type {any} */
  #reached = null

  /** @param {(tabs: HubTab[], event: unknown[]) => void} emit */
  constructor (emit) { this.#emit = emit }

  /** @param {HubTab[]} tabs @returns {{ user?: object }} a part of the connection's handshake */
  auth (tabs) {
    const places = tabs.filter(({ user }) => user !== undefined).map(({ user }) => user)
    this.#reads = places.length > 0
    return this.#reads ? { user: earliest(places) } : {}
  }

  /** @param {HubTab} tab @returns {boolean} whether the connection does not read the log, or from a later place */
  lacks ({ user }) { return user !== undefined && (!this.#reads || isBefore(user, this.#reached)) }

  /** @param {HubTab} tab that was admitted */
  admit (tab) {
    if (tab.user === undefined || this.#reached === null) return
    this.#emit([tab], [`gateway:${OPENED}`, { position: this.#reached, recovered: tab.user !== null }])
    tab.user = this.#reached
  }

  /** The connection is lost. */
  clear () { this.#reached = null }

  /** @param {HubTab[]} tabs @param {string} event about the log @param {any} told */
  onEvent (tabs, event, told) {
    this.#reached = told.position
    for (const tab of tabs.filter(({ user }) => user !== undefined)) {
      tab.user = told.position
      this.#emit([tab], [event, told])
    }
  }

  /** @param {HubTab[]} tabs @param {any[]} record event, payload and meta @param {string[]} except client ids */
  onRecord (tabs, record, except) {
    const { epoch, offset } = record[2].user
    this.#reached = { epoch, offset }
    const readers = tabs.filter(({ user }) => user !== null && !(user && !isBefore(user, this.#reached)))
    for (const tab of readers) if (tab.user) tab.user = this.#reached
    this.#emit(readers.filter((tab) => !isExcepted(tab, except)), record)
    const passed = readers.filter((tab) => tab.user && isExcepted(tab, except))
    this.#emit(passed, [`gateway:${PASSED}`, { position: this.#reached }])
  }
}

/** @param {any} one place in a log @param {any} other */
const isBefore = (one, other) =>
  one !== null && other !== null && (one.epoch !== other.epoch || one.offset < other.offset)

/** @param {any[]} places of the tabs; null: from now on @returns {object} where the connection begins */
const earliest = (places) => places.filter((place) => place !== null)
  .reduce((first, place) => first.epoch === undefined || place.offset < first.offset ? place : first, {})
