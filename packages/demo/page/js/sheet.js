import { createEditor } from './editor.js'
import { h } from './dom.js'
import { cellAfter, COLUMNS, isWriting, ROWS } from './keys.js'

const COLUMN_NAMES = ['task', 'owner', 'hours', 'status', 'note']

/** @param {string} cell */
const labelOf = (cell) => `${cell}, ${COLUMN_NAMES[COLUMNS.indexOf(cell[0])]}`

/** @param {EventTarget | null} target @returns {string | undefined} */
const cellOf = (target) => target instanceof Element ? target.closest('td')?.dataset.cell : undefined

/**
 * @typedef {object} Listeners
 * @property {(cell: string, text: string) => void} onType
 * @property {(cell: string, before: string) => void} onUndo Escape: with the text before the edit
 * @property {(cell: string) => void} onCommit Enter
 * @property {(cell: string | null) => void} onSelect
 * @property {(cell: string | null) => void} onEdit
 */

/**
 * The sheet, an ARIA grid: one Tab stop, arrow keys between the cells, Enter, F2 or a letter to edit, Escape to undo.
 */
export class Sheet {
  /** @type {Map<string, { box: HTMLElement, text: HTMLElement }>} */
  #cells = new Map()
  #active = 'A1'
  #model
  #listeners
  #editor

  /**
   * @param {object} dependencies
   * @param {HTMLTableElement} dependencies.table empty
   * @param {import('./model.js').Model} dependencies.model
   * @param {(id: string) => string | undefined} dependencies.colorOf color of another person who requested a change, by
   *   its id
   * @param {Listeners} listeners
   */
  constructor ({ table, model, colorOf }, listeners) {
    this.table = table
    this.#model = model
    this.#listeners = listeners
    this.#build()
    this.#editor = createEditor({
      labelOf,
      onInput: (cell, text) => {
        listeners.onType(cell, text)
        this.#dress(cell)
      },
      onBegin: (cell) => listeners.onEdit(cell),
      onEnd: (cell, { step, commit, undo }) => {
        if (undo !== undefined) listeners.onUndo(cell, undo)
        else if (commit) listeners.onCommit(cell)
        listeners.onEdit(null)
        this.#show(cell)
        if (step !== undefined) this.focus(cellAfter(cell, { key: step }) ?? cell)
      }
    })
    this.#listenForFocus()
    this.#listenForEdits()
    model.addEventListener('load', () => { for (const cell of this.#cells.keys()) this.#show(cell) })
    model.addEventListener('cells', (event) => {
      const { cells, id } = /** @type {CustomEvent<{ cells: string[], id: string }>} */ (event).detail
      const color = colorOf(id)
      for (const cell of cells) {
        this.#show(cell)
        if (color !== undefined) this.#flash(cell, color)
      }
    })
  }

  /** @param {string} cell */
  focus (cell) {
    const box = this.box(cell)
    box?.focus({ preventScroll: true })
    box?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }

  /**
   * @param {string} cell
   * @param {string} [text] to begin with; default: the cell's
   * @param {boolean} [typed] whether the text is new
   */
  edit (cell, text, typed = false) {
    const box = this.box(cell)
    if (box !== null) this.#editor.begin(box, cell, { before: this.#model.text(cell), text, typed })
  }

  /** Shows the document's text again, and ends editing. @param {string} cell */
  leave (cell) {
    this.#editor.end(cell)
    this.#show(cell)
  }

  /** @param {string} cell @returns {HTMLElement | null} */
  box (cell) { return this.#cells.get(cell)?.box ?? null }

  /** @param {string} cell */
  bringIntoView (cell) {
    this.box(cell)?.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'smooth' })
  }

  #build () {
    const head = h('tr', {}, h('td', { class: 'corner' }), ...COLUMNS.map((column) => h('th', { scope: 'col' }, column)))
    const rows = Array.from({ length: ROWS }, (_, index) => h(
      'tr',
      {},
      h('th', { scope: 'row' }, String(index + 1)),
      ...COLUMNS.map((column) => {
        const cell = `${column}${index + 1}`
        const text = h('span', { class: 'text' })
        const box = h('td', { role: 'gridcell', 'data-cell': cell, tabIndex: cell === this.#active ? 0 : -1 }, text)
        this.#cells.set(cell, { box, text })
        return box
      })
    ))
    this.table.setAttribute('role', 'grid')
    this.table.append(h('thead', {}, head), h('tbody', {}, ...rows))
  }

  #listenForFocus () {
    const { table } = this
    const { onSelect } = this.#listeners
    table.addEventListener('focusin', ({ target }) => {
      const cell = cellOf(target)
      if (cell === undefined) return
      const before = this.box(this.#active)
      before?.setAttribute('tabindex', '-1')
      before?.removeAttribute('aria-selected')
      this.#active = cell
      const box = this.box(cell)
      box?.setAttribute('tabindex', '0')
      box?.setAttribute('aria-selected', 'true')
      onSelect(cell)
    })
    table.addEventListener('focusout', ({ relatedTarget }) => {
      if (cellOf(relatedTarget) === undefined || !table.contains(/** @type {Node} */ (relatedTarget))) onSelect(null)
    })
  }

  #listenForEdits () {
    const { table } = this
    const editor = this.#editor
    table.addEventListener('dblclick', ({ target }) => {
      const cell = cellOf(target)
      if (cell !== undefined && !editor.holds(target)) this.edit(cell)
    })
    table.addEventListener('click', (event) => {
      const cell = cellOf(event.target)
      const { pointerType } = /** @type {PointerEvent} */ (event)
      // a finger has no double click and no keys: the first tap opens the keyboard
      if (cell !== undefined && pointerType === 'touch' && !editor.holds(event.target)) this.edit(cell)
    })
    table.addEventListener('keydown', (event) => {
      const cell = cellOf(event.target)
      if (cell === undefined || editor.holds(event.target) || event.isComposing) return
      const next = cellAfter(cell, event)
      if (next !== undefined) this.focus(next)
      else if (event.key === 'Enter' || event.key === 'F2') this.edit(cell)
      else if (event.key === 'Delete' || event.key === 'Backspace') this.#listeners.onType(cell, '')
      // the key itself goes to the field, which has the focus then
      else if (isWriting(event)) return this.edit(cell, '')
      else return
      this.#show(cell)
      event.preventDefault()
    })
    table.addEventListener('paste', (event) => {
      const cell = cellOf(event.target)
      const text = event.clipboardData?.getData('text').split(/[\t\r\n]/)[0]
      if (cell === undefined || !text || editor.holds(event.target)) return
      event.preventDefault()
      this.edit(cell, text, true)
    })
  }

  /** @param {string} cell */
  #show (cell) {
    const text = this.#cells.get(cell)?.text
    if (text === undefined) return
    const now = this.#model.text(cell)
    if (text.textContent !== now) text.textContent = now
    this.#editor.changed(cell, now)
    this.#dress(cell)
  }

  /** @param {string} cell */
  #dress (cell) {
    const box = this.box(cell)
    if (box === null) return
    const text = this.#model.text(cell)
    box.classList.toggle('number', /^-?\d+([.,]\d+)?$/.test(text))
    box.classList.toggle('waiting', this.#model.pending.has(cell))
    if (cell[0] === 'D') box.dataset.status = text.trim().toLowerCase()
  }

  /** @param {string} cell @param {string} color */
  #flash (cell, color) {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
    this.box(cell)?.animate([{ backgroundColor: `${color}55` }, { backgroundColor: `${color}00` }], {
      duration: 900,
      easing: 'ease-out'
    })
  }
}
