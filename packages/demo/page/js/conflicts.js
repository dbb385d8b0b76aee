/**
 * Cells that two people write at the same time. The document's order decides which text stands; the other one is not
 * lost: this page keeps what was typed here and shows both, until its person chooses.
 *
 * @typedef {object} Conflict
 * @property {string} mine the text that was typed here
 * @property {string} theirs
 * @property {string} by id of the other person
 * @property {boolean} mineStands whether the last change in the document's order was made here
 *
 * @typedef {object} Own the last text that was typed here into a cell
 * @property {string} text
 * @property {number | null} version of its change; null: not confirmed yet
 * @property {string} [contestedBy] id of another person who wrote there as well, before this text prevailed
 */

export class Conflicts extends EventTarget {
  /** @type {Map<string, Own>} by cell */
  #own = new Map()
  /** @type {Map<string, Conflict>} by cell */
  #open = new Map()
  /** @type {string | null} the cell that is being edited here */
  #editing = null

  /** @returns {ReadonlyMap<string, Conflict>} by cell */
  get open () { return this.#open }

  /** @param {string | null} cell being edited from now on */
  edits (cell) {
    const before = this.#editing
    this.#editing = cell
    if (before !== null && before !== cell) this.#closeIfMine(before)
    // confirmed text of an earlier visit is nothing that the person is typing
    if (cell !== null && !this.#open.has(cell) && this.#own.get(cell)?.version !== null) this.#own.delete(cell)
  }

  /** @param {string} cell @param {string} text typed here */
  typed (cell, text) {
    this.#own.set(cell, { ...this.#own.get(cell), text, version: null })
    const conflict = this.#open.get(cell)
    if (conflict === undefined) return
    conflict.mine = text
    this.#tell()
  }

  /**
   * A change of the document that was applied.
   * @param {import('./model.js').Change} change
   * @param {string | null} by id of the person; null: this page's own
   */
  applied ({ version = 0, base, cells = {} }, by) {
    for (const [cell, text] of Object.entries(cells)) {
      const own = this.#own.get(cell)
      if (own === undefined) continue
      if (by === null) {
        if (own.text === text) own.version = version
        const conflict = this.#open.get(cell)
        if (conflict !== undefined) conflict.mineStands = true
        this.#closeIfMine(cell)
      } else this.#changedByOther(cell, own, { text, by, base })
    }
    this.#tell()
  }

  /** @param {string} cell @param {Own} own @param {{ text: string, by: string, base?: number }} other */
  #changedByOther (cell, own, { text, by, base }) {
    const unseen = own.version === null || own.contestedBy === by || (base !== undefined && base < own.version)
    if (own.text !== text && (this.#editing === cell || this.#open.has(cell) || unseen))
      this.#open.set(cell, { mine: own.text, theirs: text, by, mineStands: false })
    else {
      // both wrote the same, or the other one saw this page's text before they replaced it
      this.#open.delete(cell)
      if (this.#editing !== cell) this.#own.delete(cell)
    }
  }

  /** Once it is not edited any more, a cell in which this page's text stands is no conflict. @param {string} cell */
  #closeIfMine (cell) {
    const own = this.#own.get(cell)
    const conflict = this.#open.get(cell)
    if (this.#editing === cell || own === undefined || own.version === null || !conflict?.mineStands) return
    own.contestedBy = conflict.by
    this.#open.delete(cell)
    this.#tell()
  }

  /** The person takes the other text. @param {string} cell @returns {string | undefined} it */
  take (cell) {
    const theirs = this.#open.get(cell)?.theirs
    this.#open.delete(cell)
    this.#own.delete(cell)
    this.#tell()
    return theirs
  }

  /** The person keeps the own text. @param {string} cell @returns {string | undefined} it */
  keep (cell) {
    const conflict = this.#open.get(cell)
    const own = this.#own.get(cell)
    // the other one may answer
    if (own !== undefined && conflict !== undefined) own.contestedBy = conflict.by
    this.#open.delete(cell)
    this.#tell()
    return conflict?.mine
  }

  /** The document was loaded. @param {(cell: string) => string} textOf */
  loaded (textOf) {
    for (const cell of this.#own.keys()) {
      const conflict = this.#open.get(cell)
      if (conflict !== undefined) Object.assign(conflict, { theirs: textOf(cell), mineStands: false })
      else if (this.#editing !== cell) this.#own.delete(cell)
    }
    this.#tell()
  }

  /** The document is in its first state again. */
  clear () {
    this.#own.clear()
    this.#open.clear()
    this.#tell()
  }

  #tell () { this.dispatchEvent(new Event('change')) }
}
