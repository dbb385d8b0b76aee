/** Columns that guests write in, if no visitor works there. */
const WRITABLE = ['A', 'B', 'D', 'E']

/** The columns in which visitors work: where they selected a cell last. Guests leave them alone. */
export function createColumns () {
  /** @type {Map<string, string>} cell by connection; bounded by the people present */
  const last = new Map()
  /** @type {string | undefined} cell of the visitor who brought the guests in */
  let host
  /** @type {Set<string>} connections of visitors */
  let visitors = new Set()

  const taken = () => new Set([...last.values(), host].map((cell) => cell?.[0]))

  return {
    /** @param {string | null} cell where the visitor is who brought the guests in */
    host (cell) { host = cell ?? host },
    /** @param {import('./persons.js').Person[]} persons everyone present */
    present (persons) {
      visitors = new Set(persons.filter(({ guest }) => !guest).map(({ connection }) => connection))
      for (const connection of last.keys()) if (!visitors.has(connection)) last.delete(connection)
    },
    /** @param {string | undefined} connection @param {unknown} cell null: none, but the column stays the visitor's */
    selected (connection, cell) {
      if (connection !== undefined && visitors.has(connection) && typeof cell === 'string') last.set(connection, cell)
    },
    /** @returns {string[]} */
    free: () => WRITABLE.filter((column) => !taken().has(column)),
    /** @param {string} column */
    isFree: (column) => !taken().has(column),
    /** @param {string} cell @returns {boolean} whether a visitor selected this cell last */
    isAt: (cell) => host === cell || [...last.values()].includes(cell)
  }
}
