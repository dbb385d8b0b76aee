import { element } from './dom.js'

/**
 * A table whose rows the visitor sorts by a click on a heading.
 *
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => string | number | null} value to sort by
 * @property {(row: Row) => string | Node} [show] default: the value
 * @property {(row: Row) => boolean} [isBad]
 * @property {boolean} [number] aligned to the right, sorted descending first
 */

/**
 * @template Row
 * @param {HTMLTableElement} table
 * @param {Column<Row>[]} columns the first one names the row
 * @param {{ by?: number, descending?: boolean, caption: string }} options
 * @returns {(rows: Row[]) => void} shows these rows
 */
export function createTable (table, columns, { by = 0, descending = false, caption }) {
  const body = element('tbody')
  /** @type {Row[]} */
  let rows = []
  const heads = columns.map(({ title, number }, i) => {
    const button = element('button', { type: 'button' }, title)
    button.addEventListener('click', () => {
      descending = by === i ? !descending : number === true
      by = i
      draw()
    })
    return element('th', { scope: 'col', class: number ? 'number' : undefined }, button)
  })
  table.append(
    element('caption', { class: 'visually-hidden' }, caption),
    element('thead', {}, element('tr', {}, ...heads)),
    body
  )

  function draw () {
    heads.forEach((head, i) => {
      if (i === by) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending')
      else head.removeAttribute('aria-sort')
    })
    const { value } = columns[by]
    const sorted = [...rows].sort((a, b) => compare(value(a), value(b)) * (descending ? -1 : 1))
    body.replaceChildren(...sorted.map((row) => element('tr', {}, ...columns.map((column, i) => cell(column, row, i)))))
  }

  return (next) => {
    rows = next
    draw()
  }
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 * @param {number} index
 */
function cell ({ value, show, isBad, number }, row, index) {
  const shown = show?.(row) ?? String(value(row) ?? '–')
  const classes = [number && 'number', isBad?.(row) && 'bad'].filter(Boolean).join(' ') || undefined
  return index === 0
    ? element('th', { scope: 'row', class: classes }, shown)
    : element('td', { class: classes }, shown)
}

/**
 * @param {string | number | null} a
 * @param {string | number | null} b
 */
function compare (a, b) {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true })
}
