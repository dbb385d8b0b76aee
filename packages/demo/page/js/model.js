/**
 * The document as this page knows it: the state confirmed by the document service, and on top of it text that was typed
 * here and is not confirmed yet.
 *
 * Events: `load` (anything may have changed), `change` (an edit that was applied), `cells` (cells to draw again),
 * `comments`, and `reset` before the first state is loaded again.
 *
 * @typedef {{ id: string, text: string, name: string, color: string, at: number, cell?: string }} Comment
 * @typedef {object} Change of the document service, see examples/document-service/document.js
 * @property {number} [version]
 * @property {string} id
 * @property {Record<string, string>} [cells]
 * @property {number} [base] the version that its author saw
 * @property {Comment} [comment]
 * @property {string} [resolved]
 * @property {{ title: string, cells: Record<string, string>, comments: Comment[] }} [reset]
 *
 * @typedef {{ id: string | null, text: string }} Pending id of the request it is in; null: not sent yet
 */
export class Model extends EventTarget {
  version = 0
  title = ''
  /** @type {Map<string, string>} confirmed texts by cell */
  cells = new Map()
  /** @type {Comment[]} */
  comments = []
  /** @type {Map<string, Pending>} by cell */
  pending = new Map()
  /** Changes that were received again and not applied twice. */
  duplicates = 0

  /** @param {{ version: number, title: string, cells: Record<string, string>, comments: Comment[] }} document */
  load ({ version, title, cells, comments }) {
    this.version = version
    this.title = title
    this.cells = new Map(Object.entries(cells))
    this.comments = comments
    // a request that was sent is in the document already, or its change will arrive
    for (const [cell, { id }] of this.pending) if (id !== null) this.pending.delete(cell)
    this.dispatchEvent(new Event('load'))
    this.dispatchEvent(new Event('comments'))
  }

  /** @param {string} cell @returns {string} the text to show */
  text (cell) { return this.pending.get(cell)?.text ?? this.cells.get(cell) ?? '' }

  /** @param {string} cell @param {string} text typed here */
  type (cell, text) { this.pending.set(cell, { id: null, text }) }

  /**
   * @param {Change[]} changes
   * @returns {boolean} false: a change before these is missing, and the document has to be loaded again
   */
  apply (changes) {
    for (const change of changes) {
      // without a version there is no document service, and the change is another client's own event
      if (change.version !== undefined) {
        if (change.version <= this.version) {
          this.#confirm(change)
          this.duplicates++
          continue
        }
        if (change.version > this.version + 1) return false
        this.version = change.version
      }
      this.#apply(change)
    }
    return true
  }

  /** @param {Change} change */
  #apply ({ version, id, cells, base, comment, resolved, reset }) {
    if (reset !== undefined) {
      this.dispatchEvent(new Event('reset'))
      return this.load({ ...reset, version: this.version })
    }
    if (cells !== undefined) {
      for (const [cell, text] of Object.entries(cells)) this.cells.set(cell, text)
      this.#confirm({ id, cells })
      this.dispatchEvent(new CustomEvent('change', { detail: { version, id, cells, base } }))
      this.dispatchEvent(new CustomEvent('cells', { detail: { cells: Object.keys(cells), id } }))
    }
    if (comment !== undefined) this.comments.push(comment)
    if (resolved !== undefined) this.comments = this.comments.filter(({ id }) => id !== resolved)
    if (comment !== undefined || resolved !== undefined)
      this.dispatchEvent(new CustomEvent('comments', { detail: { comment } }))
  }

  /** @param {Change} change text in it that was typed here is confirmed */
  #confirm ({ id, cells = {} }) {
    for (const cell of Object.keys(cells)) if (this.pending.get(cell)?.id === id) this.pending.delete(cell)
  }

  /** Handles the refusal of a request: the confirmed text is shown again. @param {string} id */
  refuse (id) {
    const cells = []
    for (const [cell, pending] of this.pending) {
      if (pending.id !== id) continue
      this.pending.delete(cell)
      cells.push(cell)
    }
    if (cells.length > 0) this.dispatchEvent(new CustomEvent('cells', { detail: { cells, id } }))
  }
}
