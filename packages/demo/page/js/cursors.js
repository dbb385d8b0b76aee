import { h, oncePerFrame, withPauses } from './dom.js'

/** Time after which an idle pointer disappears, ms. */
const STAYS = 8000
/** Delay between two signals of a moving pointer, ms: minimum, and per person if there are many. */
const PAUSE = 40
const PAUSE_PER_PERSON = 4
/** With more people than this, pointers are shown without names. */
const CROWD = 15
/** Maximum delay before the selection is sent again to new clients, ms; one signal serves all who come within it. */
const TELL_AGAIN = 1500

/**
 * @typedef {{ x: number, y: number, at: number, pointer: { element: HTMLElement, name: HTMLElement } | null, cell:
 *   string | null }} Cursor
 */

/** Pointers and selections of the others, with their names. They are signals: sent at once, never stored. */
export class Cursors {
  /** By connection id; bounded by the people present. @type {Map<string, Cursor>} */
  #cursors = new Map()
  /** @type {Set<string>} */
  #moved = new Set()
  /** Cells whose marks have to be drawn again. @type {Set<string>} */
  #marked = new Set()
  /** This page's own. @type {string | null} */
  #selected = null
  #telling = 0
  #idle = setInterval(() => this.#removeIdle(), 1000)
  #layer
  #sheet
  #people
  #select

  /**
   * @param {object} dependencies
   * @param {HTMLElement} dependencies.layer over the sheet, for the pointers
   * @param {import('./sheet.js').Sheet} dependencies.sheet
   * @param {import('./people.js').People} dependencies.people
   * @param {(event: string, data: object) => void} dependencies.signal
   */
  constructor ({ layer, sheet, people, signal }) {
    this.#layer = layer
    this.#sheet = sheet
    this.#people = people
    const pause = () => PAUSE + PAUSE_PER_PERSON * people.others().length
    const point = withPauses(
      (x, y) => signal('pointer', { x: Math.round(x * 1000) / 1000, y: Math.round(y * 1000) / 1000 }),
      pause
    )
    this.#select = withPauses(() => signal('select', { cell: this.#selected }), pause)
    sheet.table.addEventListener('pointermove', (/** @type {PointerEvent} */ { clientX, clientY, pointerType }) => {
      if (pointerType === 'touch') return
      const { left, top, width, height } = sheet.table.getBoundingClientRect()
      point((clientX - left) / width, (clientY - top) / height)
    })
    people.addEventListener('change', () => {
      for (const connection of [...this.#cursors.keys()])
        if (people.at(connection) === undefined) this.#remove(connection)
      layer.classList.toggle('crowded', people.others().length > CROWD)
      this.#draw()
    })
    people.addEventListener('follow', () => {
      for (const [connection, { cell }] of this.#cursors)
        if (cell !== null && people.at(connection)?.id === people.following) sheet.bringIntoView(cell)
    })
  }

  stop () { clearInterval(this.#idle) }

  /** @param {string | null} cell where this page's own selection is */
  selected (cell) {
    this.#selected = cell
    this.#select()
  }

  /** Sends the selection again, because a new client does not know it. */
  tellAgain () {
    if (this.#selected === null || this.#telling !== 0) return
    this.#telling = setTimeout(() => {
      this.#telling = 0
      this.#select()
    }, Math.random() * TELL_AGAIN)
  }

  /** @param {{ x: unknown, y: unknown }} payload @param {{ from?: string }} meta */
  onPointer = ({ x, y }, { from }) => {
    const cursor = this.#cursorOf(from)
    if (cursor === null || from === undefined || typeof x !== 'number' || typeof y !== 'number') return
    Object.assign(cursor, { x: Math.min(1, Math.max(0, x)), y: Math.min(1, Math.max(0, y)), at: performance.now() })
    this.#moved.add(from)
    this.#draw()
  }

  /** @param {{ cell: unknown }} payload @param {{ from?: string }} meta */
  onSelect = ({ cell }, { from }) => {
    const cursor = this.#cursorOf(from)
    const [sheet, people] = [this.#sheet, this.#people]
    if (cursor === null) return
    if (cursor.cell !== null) this.#marked.add(cursor.cell)
    cursor.cell = typeof cell === 'string' && sheet.box(cell) !== null ? cell : null
    if (cursor.cell !== null) {
      this.#marked.add(cursor.cell)
      if (people.following !== null && people.at(from)?.id === people.following) sheet.bringIntoView(cursor.cell)
    }
    this.#draw()
  }

  /** @param {string | undefined} connection @returns {Cursor | null} */
  #cursorOf (connection) {
    if (connection === undefined || this.#people.at(connection) === undefined) return null
    let cursor = this.#cursors.get(connection)
    if (cursor === undefined) this.#cursors.set(connection, cursor = { x: 0, y: 0, at: 0, pointer: null, cell: null })
    return cursor
  }

  #draw = oncePerFrame(() => {
    // read the size before any write: a read after a write would force another layout
    const { offsetWidth: width, offsetHeight: height } = this.#sheet.table
    for (const connection of this.#moved) {
      const cursor = this.#cursors.get(connection)
      const person = this.#people.at(connection)
      if (cursor === undefined || person === undefined) continue
      const { element, name } = cursor.pointer ??= this.#makePointer()
      element.style.setProperty('--color', person.color)
      if (name.textContent !== person.name) name.textContent = person.name
      element.classList.toggle('at-the-edge', cursor.x > 0.85)
      element.style.transform = `translate(${(cursor.x * width).toFixed(1)}px, ${(cursor.y * height).toFixed(1)}px)`
    }
    this.#moved.clear()
    for (const cell of this.#marked) this.#drawMark(cell)
    this.#marked.clear()
  })

  #makePointer () {
    const name = h('span', {})
    return { element: this.#layer.appendChild(h('div', { class: 'pointer' }, name)), name }
  }

  /** @param {string} cell */
  #drawMark (cell) {
    const box = this.#sheet.box(cell)
    if (box === null) return
    const here = [...this.#cursors]
      .filter(([, cursor]) => cursor.cell === cell)
      .map(([connection]) => this.#people.at(connection))
      .filter((person) => person !== undefined)
    const label = box.querySelector('.mark')
    box.classList.toggle('selected-by-other', here.length > 0)
    if (here.length === 0) return void label?.remove()
    box.style.setProperty('--color', here[0].color)
    const text = here.length === 1 ? here[0].name : `${here[0].name} +${here.length - 1}`
    if (label === null) box.append(h('span', { class: 'mark', 'aria-hidden': 'true' }, text))
    else if (label.textContent !== text) label.textContent = text
  }

  /** @param {string} connection */
  #remove (connection) {
    const cursor = this.#cursors.get(connection)
    this.#cursors.delete(connection)
    cursor?.pointer?.element.remove()
    if (cursor?.cell) this.#marked.add(cursor.cell)
  }

  #removeIdle () {
    const now = performance.now()
    for (const cursor of this.#cursors.values()) {
      if (cursor.pointer === null || now - cursor.at < STAYS) continue
      cursor.pointer.element.remove()
      cursor.pointer = null
    }
  }
}
