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
 * Pointers and selections of the others, with their names. They are signals: sent at once, never stored.
 *
 * @param {object} dependencies
 * @param {HTMLElement} dependencies.layer over the sheet, for the pointers
 * @param {ReturnType<typeof import('./sheet.js').createSheet>} dependencies.sheet
 * @param {import('./people.js').People} dependencies.people
 * @param {(event: string, data: object) => void} dependencies.signal
 */
export function createCursors ({ layer, sheet, people, signal }) {
  /**
   * @typedef {{ x: number, y: number, at: number, pointer: { element: HTMLElement, name: HTMLElement } | null, cell:
   *   string | null }} Cursor
   */
  /** @type {Map<string, Cursor>} by connection id; bounded by the people present */
  const cursors = new Map()
  /** @type {Set<string>} */
  const moved = new Set()
  /** @type {Set<string>} cells whose marks have to be drawn again */
  const marked = new Set()
  /** @type {string | null} */
  let selected = null
  let telling = 0

  const pause = () => PAUSE + PAUSE_PER_PERSON * people.others().length
  const point = withPauses(
    (x, y) => signal('pointer', { x: Math.round(x * 1000) / 1000, y: Math.round(y * 1000) / 1000 }),
    pause
  )
  const select = withPauses(() => signal('select', { cell: selected }), pause)

  sheet.table.addEventListener('pointermove', (/** @type {PointerEvent} */ { clientX, clientY, pointerType }) => {
    if (pointerType === 'touch') return
    const { left, top, width, height } = sheet.table.getBoundingClientRect()
    point((clientX - left) / width, (clientY - top) / height)
  })

  /** @param {string | undefined} connection @returns {Cursor | null} */
  function cursorOf (connection) {
    if (connection === undefined || people.at(connection) === undefined) return null
    let cursor = cursors.get(connection)
    if (cursor === undefined) cursors.set(connection, cursor = { x: 0, y: 0, at: 0, pointer: null, cell: null })
    return cursor
  }

  const draw = oncePerFrame(() => {
    // read the size before any write: a read after a write would force another layout
    const { offsetWidth: width, offsetHeight: height } = sheet.table
    for (const connection of moved) {
      const cursor = cursors.get(connection)
      const person = people.at(connection)
      if (cursor === undefined || person === undefined) continue
      const { element, name } = cursor.pointer ??= makePointer()
      element.style.setProperty('--color', person.color)
      if (name.textContent !== person.name) name.textContent = person.name
      element.classList.toggle('at-the-edge', cursor.x > 0.85)
      element.style.transform = `translate(${(cursor.x * width).toFixed(1)}px, ${(cursor.y * height).toFixed(1)}px)`
    }
    moved.clear()
    for (const cell of marked) drawMark(cell)
    marked.clear()
  })

  function makePointer () {
    const name = h('span', {})
    return { element: layer.appendChild(h('div', { class: 'pointer' }, name)), name }
  }

  /** @param {string} cell */
  function drawMark (cell) {
    const box = sheet.box(cell)
    if (box === null) return
    const here = [...cursors]
      .filter(([, cursor]) => cursor.cell === cell)
      .map(([connection]) => people.at(connection))
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
  function remove (connection) {
    const cursor = cursors.get(connection)
    cursors.delete(connection)
    cursor?.pointer?.element.remove()
    if (cursor?.cell) marked.add(cursor.cell)
  }

  people.addEventListener('change', () => {
    for (const connection of [...cursors.keys()]) if (people.at(connection) === undefined) remove(connection)
    layer.classList.toggle('crowded', people.others().length > CROWD)
    draw()
  })
  people.addEventListener('follow', () => {
    for (const [connection, { cell }] of cursors)
      if (cell !== null && people.at(connection)?.id === people.following) sheet.bringIntoView(cell)
  })
  const idle = setInterval(() => {
    const now = performance.now()
    for (const cursor of cursors.values()) {
      if (cursor.pointer === null || now - cursor.at < STAYS) continue
      cursor.pointer.element.remove()
      cursor.pointer = null
    }
  }, 1000)

  return {
    stop () { clearInterval(idle) },

    /** @param {string | null} cell where this page's own selection is */
    selected (cell) {
      selected = cell
      select()
    },

    /** Sends the selection again, because a new client does not know it. */
    tellAgain () {
      if (selected === null || telling !== 0) return
      telling = setTimeout(() => {
        telling = 0
        select()
      }, Math.random() * TELL_AGAIN)
    },

    /** @param {{ x: unknown, y: unknown }} payload @param {{ from?: string }} meta */
    onPointer ({ x, y }, { from }) {
      const cursor = cursorOf(from)
      if (cursor === null || from === undefined || typeof x !== 'number' || typeof y !== 'number') return
      Object.assign(cursor, { x: Math.min(1, Math.max(0, x)), y: Math.min(1, Math.max(0, y)), at: performance.now() })
      moved.add(from)
      draw()
    },

    /** @param {{ cell: unknown }} payload @param {{ from?: string }} meta */
    onSelect ({ cell }, { from }) {
      const cursor = cursorOf(from)
      if (cursor === null) return
      if (cursor.cell !== null) marked.add(cursor.cell)
      cursor.cell = typeof cell === 'string' && sheet.box(cell) !== null ? cell : null
      if (cursor.cell !== null) {
        marked.add(cursor.cell)
        if (people.following !== null && people.at(from)?.id === people.following) sheet.bringIntoView(cursor.cell)
      }
      draw()
    }
  }
}
