import { Conflicts } from './conflicts.js'
import { createConflictNotes } from './conflict-notes.js'
import { Cursors } from './cursors.js'
import { createEdits } from './edits.js'
import { openLink } from './link.js'
import { keep } from './me.js'
import { Model } from './model.js'
import { People } from './people.js'
import { Sheet } from './sheet.js'

/**
 * One person's view of the document: a sheet, with a connection of its own. The page has one, and a second one beside
 * it for a visitor who is alone.
 */
export class View {
  model = new Model()
  conflicts = new Conflicts()
  /** @type {{ client: any, doc: any } | null} */
  #link = null
  /** The presence state that others see. @type {Record<string, any>} */
  #state
  #requests = 0
  #guid
  #edits
  #cursors

  /**
   * @param {object} dependencies
   * @param {string} dependencies.guid
   * @param {import('./me.js').Me} dependencies.me changes when the person needs another color
   * @param {HTMLElement} dependencies.canvas with an empty table and a layer for pointers
   * @param {boolean} dependencies.kept whether a reload of the page must find the same person
   * @param {(at: number, id: string) => void} [dependencies.onSent]
   * @param {(cell: string | null) => void} [dependencies.onSelect]
   */
  constructor ({ guid, me, canvas, kept, onSent = () => {}, onSelect = () => {} }) {
    const { model, conflicts } = this
    this.me = me
    this.#guid = guid
    this.#state = { ...me }
    this.people = new People({ me, presence: () => this.#link?.doc.presence ?? new Map() })
    this.#edits = createEdits({ model, send: this.send, newId: this.newId, onSent })
    const isOpen = (/** @type {string} */ cell) => conflicts.open.has(cell)
    this.sheet = new Sheet({
      table: /** @type {HTMLTableElement} */ (canvas.querySelector('table')), model, colorOf: (id) => this.#colorOf(id)
    }, {
      onType: this.type,
      onUndo: (cell, before) => isOpen(cell) ? this.#take(cell) : this.type(cell, before),
      onCommit: (cell) => { if (isOpen(cell)) this.#keepMine(cell) },
      onSelect: (cell) => {
        onSelect(cell)
        this.#cursors.selected(cell)
      },
      onEdit: (cell) => conflicts.edits(cell)
    })
    const layer = /** @type {HTMLElement} */ (canvas.querySelector('.pointers'))
    this.#cursors = new Cursors({ layer, sheet: this.sheet, people: this.people, signal: this.signal })
    createConflictNotes({
      canvas, sheet: this.sheet, conflicts,
      personOf: (id) => this.people.named(id),
      onTake: (cell) => this.#take(cell),
      onKeep: (cell) => this.#keepMine(cell)
    })
    model.addEventListener('change', (event) => {
      const { detail } = /** @type {CustomEvent<import('./model.js').Change>} */ (event)
      const person = personOf(detail.id)
      conflicts.applied(detail, person === me.id ? null : person)
    })
    model.addEventListener('reset', () => conflicts.clear())
    model.addEventListener('load', () => conflicts.loaded((cell) => model.text(cell)))
    this.people.addEventListener('color', () => {
      me.color = this.people.colorOf(me.id) ?? me.color
      if (kept) keep(me)
      this.setState({ color: me.color })
    })
  }

  /** Id of a request: its sender and a number. A reloaded page counts from the start, so the time is included. */
  newId = () => `${this.me.id}:${Date.now().toString(36)}${(++this.#requests).toString(36)}`

  /** @param {string} event @param {object} data @returns {Promise<unknown>} */
  send = (event, data) => this.#link === null
    ? Promise.reject(Object.assign(new Error('not connected yet'), { retryable: true }))
    : this.#link.doc.send(data, { event })

  /** @param {string} event @param {object} data @returns {boolean} */
  signal = (event, data) => this.#link?.doc.signal(event, data) ?? false

  /** @param {Record<string, any>} change */
  setState = (change) => {
    this.#state = { ...this.#state, ...change }
    // sent again with the next connection
    this.#link?.doc.setState(JSON.parse(JSON.stringify(this.#state))).catch(() => {})
  }

  /** @param {string} cell @param {string} text */
  type = (cell, text) => {
    this.conflicts.typed(cell, text)
    this.#edits.type(cell, text)
  }

  /** @param {string} id of a request */
  #colorOf (id) {
    const person = personOf(id)
    return person === this.me.id ? undefined : this.people.colorOf(person)
  }

  /** Sends the text again, so that it is the last one in the document's order. @param {string} cell */
  #keepMine (cell) {
    const mine = this.conflicts.keep(cell)
    if (mine !== undefined && mine !== this.model.text(cell)) this.type(cell, mine)
    this.sheet.leave(cell)
  }

  /** @param {string} cell */
  #take (cell) {
    const theirs = this.conflicts.take(cell)
    // what was typed here last may still be on its way
    if (theirs !== undefined && theirs !== this.model.text(cell)) this.#edits.type(cell, theirs)
    this.sheet.leave(cell)
  }

  /**
   * @typedef {object} OpenOptions
   * @property {import('./token.js').TokenSource} source
   * @property {string} path of the gateway's sockets
   * @property {(meta: { offset?: number }) => void} [onRecord]
   * @property {(changes: import('./model.js').Change[], meta: { ts: number }) => void} [onChanges]
   * @property {() => void} [onSignal]
   * @property {(problem: string, options?: { quiet: boolean }) => void} [onProblem]
   * @property {(state: string, reason: Error | null) => void} [onState]
   * @property {(loaded: { document: any }) => void} [onLoad]
   * @property {string[]} [transports]
   * @property {boolean} [msgpack]
   *
   * @param {OpenOptions} options
   */
  async open ({ onProblem = () => {}, onState = () => {}, onLoad = () => {}, ...options }) {
    const opened = await openLink({ guid: this.#guid, me: this.me, state: this.#state }, {
      onProblem,
      onState,
      onLoad: (loaded) => {
        this.model.load(loaded.document)
        onLoad(loaded)
      }
    }, options)
    this.#link = opened
    this.#listen(opened, options)
    return opened
  }

  /**
   * @param {Awaited<ReturnType<typeof openLink>>} link
   * @param {Pick<OpenOptions, 'onRecord' | 'onChanges' | 'onSignal'>} listeners
   */
  #listen ({ client, doc }, { onRecord = () => {}, onChanges = () => {}, onSignal = () => {} }) {
    const { conflicts, model, people } = this
    /** @param {import('./model.js').Change[]} changes @param {{ offset?: number, ts: number }} meta */
    function apply (changes, meta) {
      onChanges(changes, meta)
      if (!model.apply(changes)) doc.reload().catch(() => {})
      onRecord(meta)
    }
    doc.on('sheet:changes', ({ changes }, meta) => apply(changes, meta))
    // without a document service the events of others arrive unchanged
    doc.on('sheet:edit', ({ id, cells }, meta) => apply([{ id, cells }], meta))
    doc.on('sheet:comment', ({ id, text, name, color, cell }, meta) =>
      apply([{ id, comment: { id, text, name, color, cell, at: meta.ts } }], meta))
    doc.on('sheet:resolve', ({ id, comment }, meta) => apply([{ id, resolved: comment }], meta))
    doc.on('sheet:reset', () => {
      conflicts.clear()
      doc.reload().catch(() => {})
    })
    client.on('sheet:refused', ({ id }) => model.refuse(id))
    const signals = { pointer: this.#cursors.onPointer, select: this.#cursors.onSelect }
    for (const [event, listener] of Object.entries(signals)) {
      doc.on(event, (payload, meta) => {
        onSignal()
        if (payload !== null && typeof payload === 'object' && meta.from !== client.connectionId)
          listener(payload, meta)
      })
    }
    doc.on('presence', ({ joined }) => {
      people.update()
      if (joined.length > 0) this.#cursors.tellAgain()
    })
    people.update()
  }

  close () {
    this.#cursors.stop()
    this.#link?.client.close()
    this.#link = null
  }
}

/** @param {string} id of a request @returns {string} who sent it */
export const personOf = (id) => id.slice(0, id.lastIndexOf(':'))
