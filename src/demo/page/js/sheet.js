import { byId, h } from './dom.js'

const COLUMNS = ['A', 'B', 'C', 'D', 'E']
const ROWS = 12
const MAX_TEXT = 200
const COLUMN_NAMES = ['task', 'owner', 'hours', 'status', 'note']

/**
 * The sheet: a table of text fields, which keyboards, screen readers and phones support.
 *
 * @param {object} dependencies
 * @param {import('./model.js').Model} dependencies.model
 * @param {(cell: string, text: string) => void} dependencies.onType
 * @param {(cell: string | null) => void} dependencies.onSelect
 * @param {(id: string) => string | undefined} dependencies.colorOf color of the person who requested a change, by its
 *   id
 */
export function createSheet ({ model, onType, onSelect, colorOf }) {
  /** @type {Map<string, HTMLInputElement>} */
  const fields = new Map()
  const table = byId('sheet', HTMLTableElement)
  build()

  function build () {
    const head = h(
      'tr',
      {},
      h('td', { class: 'corner' }),
      ...COLUMNS.map((column) => h('th', { scope: 'col' }, column))
    )
    const rows = Array.from({ length: ROWS }, (_, index) => {
      const row = index + 1
      return h('tr', {}, h('th', { scope: 'row' }, String(row)), ...COLUMNS.map((column, i) => {
        const cell = column + row
        const field = h('input', {
          type: 'text',
          maxLength: MAX_TEXT,
          autocomplete: 'off',
          spellcheck: false,
          enterKeyHint: 'next',
          'aria-label': `${cell}, ${COLUMN_NAMES[i]}`,
          'data-cell': cell
        })
        fields.set(cell, field)
        return h('td', { 'data-cell': cell, class: `column-${column.toLowerCase()}` }, field)
      }))
    })
    table.append(h('thead', {}, head), h('tbody', {}, ...rows))
  }

  /** @param {EventTarget | null} target @returns {string | undefined} */
  const cellOf = (target) => target instanceof HTMLInputElement ? target.dataset.cell : undefined

  table.addEventListener('input', ({ target }) => {
    const cell = cellOf(target)
    if (cell === undefined) return
    onType(cell, /** @type {HTMLInputElement} */ (target).value)
    dress(cell)
  })
  table.addEventListener('focusin', ({ target }) => onSelect(cellOf(target) ?? null))
  table.addEventListener('focusout', ({ relatedTarget }) => { if (cellOf(relatedTarget) === undefined) onSelect(null) })
  table.addEventListener('keydown', (event) => {
    const cell = cellOf(event.target)
    const step =
      event.key === 'Enter'
        ? event.shiftKey
          ? -1
          : 1
        : event.key === 'ArrowDown'
          ? 1
          : event.key === 'ArrowUp'
            ? -1
            : undefined
    if (cell === undefined || step === undefined || event.isComposing) return
    const next = fields.get(cell[0] + (Number(cell.slice(1)) + step))
    if (next === undefined) return
    event.preventDefault()
    next.focus()
    next.select()
  })

  model.addEventListener('load', () => { for (const cell of fields.keys()) show(cell) })
  model.addEventListener('cells', (event) => {
    const { cells, id } = /** @type {CustomEvent<{ cells: string[], id: string }>} */ (event).detail
    const color = colorOf(id)
    for (const cell of cells) {
      show(cell)
      if (color !== undefined) flash(cell, color)
    }
  })

  /** @param {string} cell */
  function show (cell) {
    const field = fields.get(cell)
    if (field === undefined) return
    const text = model.text(cell)
    // setting the value would move the caret of the person who types there
    if (field.value !== text) field.value = text
    dress(cell)
  }

  /** @param {string} cell */
  function dress (cell) {
    const field = fields.get(cell)
    const box = field?.parentElement
    if (field === undefined || !box) return
    box.classList.toggle('number', /^-?\d+([.,]\d+)?$/.test(field.value))
    box.classList.toggle('waiting', model.pending.has(cell))
    if (cell[0] === 'D') box.dataset.status = field.value.trim().toLowerCase()
  }

  /** @param {string} cell @param {string} color */
  function flash (cell, color) {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
    const box = fields.get(cell)?.parentElement
    box?.animate([{ backgroundColor: `${color}55` }, { backgroundColor: `${color}00` }], {
      duration: 900,
      easing: 'ease-out'
    })
  }

  return {
    table,
    /** @param {string} cell @returns {HTMLElement | null} */
    box: (cell) => fields.get(cell)?.parentElement ?? null,
    /** @param {string} cell */
    bringIntoView (cell) {
      fields.get(cell)?.parentElement?.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'smooth' })
    }
  }
}
