import { createEditor } from './editor.js'
import { h } from './dom.js'
import { cellAfter, COLUMNS, isWriting, ROWS } from './keys.js'

const COLUMN_NAMES = ['task', 'owner', 'hours', 'status', 'note']

/**
 * The sheet, an ARIA grid: one Tab stop, arrow keys between the cells, Enter, F2 or a letter to edit, Escape to undo.
 *
 * @param {object} dependencies
 * @param {HTMLTableElement} dependencies.table empty
 * @param {import('./model.js').Model} dependencies.model
 * @param {(cell: string, text: string) => void} dependencies.onType
 * @param {(cell: string, before: string) => void} dependencies.onUndo Escape: with the text before the edit
 * @param {(cell: string) => void} dependencies.onCommit Enter
 * @param {(cell: string | null) => void} dependencies.onSelect
 * @param {(cell: string | null) => void} dependencies.onEdit
 * @param {(id: string) => string | undefined} dependencies.colorOf color of another person who requested a change, by
 *   its id
 */
export function createSheet ({ table, model, onType, onUndo, onCommit, onSelect, onEdit, colorOf }) {
  /** @type {Map<string, { box: HTMLElement, text: HTMLElement }>} */
  const cells = new Map()
  let active = 'A1'
  build()

  const editor = createEditor({
    labelOf,
    onInput: (cell, text) => {
      onType(cell, text)
      dress(cell)
    },
    onBegin: (cell) => onEdit(cell),
    onEnd (cell, { step, commit, undo }) {
      if (undo !== undefined) onUndo(cell, undo)
      else if (commit) onCommit(cell)
      onEdit(null)
      show(cell)
      if (step !== undefined) focus(cellAfter(cell, { key: step }) ?? cell)
    }
  })

  function build () {
    const head = h('tr', {}, h('td', { class: 'corner' }), ...COLUMNS.map((column) => h('th', { scope: 'col' }, column)))
    const rows = Array.from({ length: ROWS }, (_, index) => h(
      'tr',
      {},
      h('th', { scope: 'row' }, String(index + 1)),
      ...COLUMNS.map((column) => {
        const cell = `${column}${index + 1}`
        const text = h('span', { class: 'text' })
        const box = h('td', { role: 'gridcell', 'data-cell': cell, tabIndex: cell === active ? 0 : -1 }, text)
        cells.set(cell, { box, text })
        return box
      })
    ))
    table.setAttribute('role', 'grid')
    table.append(h('thead', {}, head), h('tbody', {}, ...rows))
  }

  /** @param {string} cell */
  function labelOf (cell) { return `${cell}, ${COLUMN_NAMES[COLUMNS.indexOf(cell[0])]}` }

  /** @param {EventTarget | null} target @returns {string | undefined} */
  const cellOf = (target) => target instanceof Element ? target.closest('td')?.dataset.cell : undefined

  /** @param {string} cell */
  function focus (cell) {
    const box = cells.get(cell)?.box
    box?.focus({ preventScroll: true })
    box?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }

  /**
   * @param {string} cell
   * @param {string} [text] to begin with; default: the cell's
   * @param {boolean} [typed] whether the text is new
   */
  function edit (cell, text, typed = false) {
    const box = cells.get(cell)?.box
    if (box === undefined) return
    editor.begin(box, cell, { before: model.text(cell), text, typed })
  }

  table.addEventListener('focusin', ({ target }) => {
    const cell = cellOf(target)
    if (cell === undefined) return
    cells.get(active)?.box.setAttribute('tabindex', '-1')
    cells.get(active)?.box.removeAttribute('aria-selected')
    active = cell
    cells.get(active)?.box.setAttribute('tabindex', '0')
    cells.get(active)?.box.setAttribute('aria-selected', 'true')
    onSelect(cell)
  })
  table.addEventListener('focusout', ({ relatedTarget }) => {
    if (cellOf(relatedTarget) === undefined || !table.contains(/** @type {Node} */ (relatedTarget))) onSelect(null)
  })
  table.addEventListener('dblclick', ({ target }) => {
    const cell = cellOf(target)
    if (cell !== undefined && !editor.holds(target)) edit(cell)
  })
  table.addEventListener('click', (event) => {
    const cell = cellOf(event.target)
    // a finger has no double click and no keys: the first tap opens the keyboard
    if (cell !== undefined && /** @type {PointerEvent} */ (event).pointerType === 'touch' && !editor.holds(event.target))
      edit(cell)
  })
  table.addEventListener('keydown', (event) => {
    const cell = cellOf(event.target)
    if (cell === undefined || editor.holds(event.target) || event.isComposing) return
    const next = cellAfter(cell, event)
    if (next !== undefined) focus(next)
    else if (event.key === 'Enter' || event.key === 'F2') edit(cell)
    else if (event.key === 'Delete' || event.key === 'Backspace') onType(cell, '')
    // the key itself goes to the field, which has the focus then
    else if (isWriting(event)) return edit(cell, '')
    else return
    show(cell)
    event.preventDefault()
  })
  table.addEventListener('paste', (event) => {
    const cell = cellOf(event.target)
    const text = event.clipboardData?.getData('text').split(/[\t\r\n]/)[0]
    if (cell === undefined || !text || editor.holds(event.target)) return
    event.preventDefault()
    edit(cell, text, true)
  })

  model.addEventListener('load', () => { for (const cell of cells.keys()) show(cell) })
  model.addEventListener('cells', (event) => {
    const { cells: changed, id } = /** @type {CustomEvent<{ cells: string[], id: string }>} */ (event).detail
    const color = colorOf(id)
    for (const cell of changed) {
      show(cell)
      if (color !== undefined) flash(cell, color)
    }
  })

  /** @param {string} cell */
  function show (cell) {
    const text = cells.get(cell)?.text
    if (text === undefined) return
    const now = model.text(cell)
    if (text.textContent !== now) text.textContent = now
    editor.changed(cell, now)
    dress(cell)
  }

  /** @param {string} cell */
  function dress (cell) {
    const { box } = cells.get(cell) ?? {}
    if (box === undefined) return
    const text = model.text(cell)
    box.classList.toggle('number', /^-?\d+([.,]\d+)?$/.test(text))
    box.classList.toggle('waiting', model.pending.has(cell))
    if (cell[0] === 'D') box.dataset.status = text.trim().toLowerCase()
  }

  /** @param {string} cell @param {string} color */
  function flash (cell, color) {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
    cells.get(cell)?.box.animate([{ backgroundColor: `${color}55` }, { backgroundColor: `${color}00` }], {
      duration: 900,
      easing: 'ease-out'
    })
  }

  return {
    table,
    focus,
    edit,
    /** Shows the document's text again, and ends editing. @param {string} cell */
    leave (cell) {
      editor.end(cell)
      show(cell)
    },
    /** @param {string} cell @returns {HTMLElement | null} */
    box: (cell) => cells.get(cell)?.box ?? null,
    /** @param {string} cell */
    bringIntoView (cell) {
      cells.get(cell)?.box.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'smooth' })
    }
  }
}
