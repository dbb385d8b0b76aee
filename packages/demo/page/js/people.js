import { assignColors } from './colors.js'
import { personsIn } from './persons.js'

/** @typedef {import('./persons.js').Person} Person */

/**
 * The people present, from the presence of the document: each connection has published its person.
 *
 * Events: `change`, `follow`, and `color` when another person has the color of this page's person.
 */
export class People extends EventTarget {
  /** @type {Map<string, Person>} by connection id */
  #byConnection = new Map()
  /** @type {Map<string, string>} color by person */
  #colors = new Map()
  /** @type {string | null} id of the person that this page follows */
  following = null

  /** @param {{ me: import('./me.js').Me, presence: () => ReadonlyMap<string, any> }} dependencies */
  constructor ({ me, presence }) {
    super()
    this.me = me
    this.presence = presence
  }

  /** Applies a change of the presence. */
  update () {
    const persons = personsIn(this.presence())
    this.#colors = assignColors([this.me, ...persons.filter(({ id }) => id !== this.me.id)])
    for (const person of persons) person.color = this.colorOf(person.id) ?? person.color
    this.#byConnection = new Map(persons.map((person) => [person.connection, person]))
    if (this.following !== null && !persons.some(({ id }) => id === this.following)) this.following = null
    if (this.colorOf(this.me.id) !== this.me.color) this.dispatchEvent(new Event('color'))
    this.dispatchEvent(new Event('change'))
  }

  /** @returns {Person[]} the others, each once, however many connections they have */
  others () {
    const others = new Map()
    for (const person of this.#byConnection.values()) if (person.id !== this.me.id) others.set(person.id, person)
    return [...others.values()].sort((a, b) => a.name.localeCompare(b.name))
  }

  /** @param {string | undefined} connection @returns {Person | undefined} */
  at (connection) { return connection === undefined ? undefined : this.#byConnection.get(connection) }

  /** @param {string} id @returns {{ name: string, color: string } | undefined} this page's person as well */
  named (id) {
    if (id === this.me.id) return this.me
    for (const person of this.#byConnection.values()) if (person.id === id) return person
    return undefined
  }

  /** @param {string} id of a person @returns {string | undefined} */
  colorOf (id) { return this.#colors.get(id) }

  /** @param {string} id */
  follow (id) {
    this.following = this.following === id ? null : id
    this.dispatchEvent(new Event('follow'))
  }
}
