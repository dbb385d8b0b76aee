/** The way of the keyboard through the sheet. */

export const COLUMNS = ['A', 'B', 'C', 'D', 'E']
export const ROWS = 12

/** @typedef {{ key: string, ctrlKey?: boolean, metaKey?: boolean, shiftKey?: boolean, altKey?: boolean }} Key */

/**
 * @param {string} cell
 * @param {Key} event
 * @returns {string | undefined} the cell that the key goes to, perhaps the same; undefined: it is none of these keys
 */
export function cellAfter (cell, { key, ctrlKey = false, metaKey = false, altKey = false }) {
  if (altKey) return undefined
  const far = ctrlKey || metaKey
  const column = COLUMNS.indexOf(cell[0])
  const row = Number(cell.slice(1))
  const at = (/** @type {number} */ c, /** @type {number} */ r) =>
    COLUMNS[Math.min(COLUMNS.length - 1, Math.max(0, c))] + Math.min(ROWS, Math.max(1, r))
  switch (key) {
    case 'ArrowLeft': return at(far ? 0 : column - 1, row)
    case 'ArrowRight': return at(far ? COLUMNS.length : column + 1, row)
    case 'ArrowUp': return at(column, far ? 1 : row - 1)
    case 'ArrowDown': return at(column, far ? ROWS : row + 1)
    case 'Home': return far ? at(0, 1) : at(0, row)
    case 'End': return far ? at(COLUMNS.length, ROWS) : at(COLUMNS.length, row)
    case 'PageUp': return at(column, 1)
    case 'PageDown': return at(column, ROWS)
    default: return undefined
  }
}

/**
 * @param {Key} event
 * @returns {boolean} whether the key begins to write: a letter, or the first key of an input method
 */
export const isWriting = ({ key, ctrlKey = false, metaKey = false, altKey = false }) =>
  ['Process', 'Dead', 'Unidentified'].includes(key) || ([...key].length === 1 && !ctrlKey && !metaKey && !altKey)
