import { arrange, byId, h, oncePerFrame } from './dom.js'

/** Maximum avatars; the others are shown as a number. */
const SHOWN = 7

/**
 * The people present, from the presence of the document: each connection has published its person.
 *
 * @typedef {{ id: string, name: string, color: string, presenting?: { slide: number }, connection: string }} Person
 */
export class People extends EventTarget {
  /** @type {Map<string, Person>} by connection id */
  #byConnection = new Map()
  /** @type {string | null} id of the person that this page follows */
  following = null

  /**
   * @param {{ me: import('./me.js').Me, presence: () => ReadonlyMap<string, import('/client/index.js').Member> }}
   *   dependencies
   */
  constructor ({ me, presence }) {
    super()
    this.me = me
    this.presence = presence
    this.list = byId('people')
    this.draw = oncePerFrame(() => this.#draw())
  }

  /** Applies a change of the presence. */
  update () {
    this.#byConnection.clear()
    // a user of several tabs is one member with several connections
    for (const { id: connection, state } of [...this.presence().values()].flatMap(
      (member) => member.connections ?? [member]
    )) {
      // clients can put anything into a state: use only valid fields
      if (typeof state?.id !== 'string' || typeof state.name !== 'string' || !/^#[0-9a-f]{6}$/.test(state.color))
        continue
      const { id, name, color, presenting } = state
      this.#byConnection.set(connection, {
        id,
        name: name.slice(0, 40),
        color,
        connection,
        ...(Number.isInteger(presenting?.slide) ? { presenting } : {})
      })
    }
    this.dispatchEvent(new Event('change'))
    this.draw()
  }

  /** @returns {Person[]} the others, each once, however many connections they have */
  others () {
    const others = new Map()
    for (const person of this.#byConnection.values()) if (person.id !== this.me.id) others.set(person.id, person)
    return [...others.values()].sort((a, b) => a.name.localeCompare(b.name))
  }

  /** @param {string | undefined} connection @returns {Person | undefined} */
  at (connection) { return connection === undefined ? undefined : this.#byConnection.get(connection) }

  /** @param {string} id of a person @returns {string | undefined} */
  colorOf (id) {
    for (const person of this.#byConnection.values()) if (person.id === id) return person.color
    return undefined
  }

  /** @param {string | null} id */
  follow (id) {
    this.following = this.following === id ? null : id
    this.dispatchEvent(new CustomEvent('follow', { detail: { id: this.following } }))
    this.draw()
  }

  #draw () {
    const others = this.others()
    if (this.following !== null && !others.some(({ id }) => id === this.following)) this.following = null
    const shown = others.length > SHOWN ? others.slice(0, SHOWN - 1) : others
    const known = new Map(Array.from(this.list.children, (item) => [item.getAttribute('data-id'), item]))
    const items = shown.map((person) => {
      const item =
        known.get(person.id) ??
        h(
          'li',
          { 'data-id': person.id },
          h(
            'button',
            { type: 'button', class: 'avatar', onclick: () => this.follow(person.id) },
            h('span', {}),
            h('span', { class: 'visually-hidden' })
          )
        )
      dress(item.children[0], person, person.id === this.following)
      return item
    })
    if (others.length > shown.length)
      items.push(
        h(
          'li',
          {},
          h(
            'span',
            {
              class: 'avatar more',
              title: others
                .slice(shown.length)
                .map(({ name }) => name)
                .join(', ')
            },
            `+${others.length - shown.length}`
          )
        )
      )
    arrange(this.list, items)
    byId('people-count').textContent = others.length === 0 ? 'only you' : `${others.length + 1} here`
  }
}

/** @param {any} button @param {Person} person @param {boolean} followed */
function dress (button, { name, color, presenting }, followed) {
  const initials = name.split(/\s+/).map((word) => word[0]).join('').slice(0, 2).toUpperCase()
  const [shown, spoken] = button.children
  shown.textContent = initials
  spoken.textContent = `, ${name}: follow`
  button.style.setProperty('--color', color)
  button.title = followed ? `You follow ${name}` : `Follow ${name}`
  button.setAttribute('aria-pressed', String(followed))
  button.classList.toggle('presenting', presenting !== undefined)
}
