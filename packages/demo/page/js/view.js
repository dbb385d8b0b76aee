import { Conflicts } from './conflicts.js'
import { createConflictNotes } from './conflict-notes.js'
import { createCursors } from './cursors.js'
import { createEdits } from './edits.js'
import { openLink } from './link.js'
import { keep } from './me.js'
import { Model } from './model.js'
import { People } from './people.js'
import { createSheet } from './sheet.js'

/**
 * One person's view of the document: a sheet, with a connection of its own. The page has one, and a second one beside
 * it for a visitor who is alone.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {import('./me.js').Me} dependencies.me changes when the person needs another color
 * @param {HTMLElement} dependencies.canvas with an empty table and a layer for pointers
 * @param {boolean} dependencies.kept whether a reload of the page must find the same person
 * @param {(at: number, id: string) => void} [dependencies.onSent]
 * @param {(cell: string | null) => void} [dependencies.onSelect]
 */
export function createView ({ guid, me, canvas, kept, onSent = () => {}, onSelect = () => {} }) {
  /** @type {{ client: any, doc: any } | null} */
  let link = null
  /** @type {Record<string, any>} the presence state that others see */
  let state = { ...me }
  let requests = 0
  /** Id of a request: its sender and a number. A reloaded page counts from the start, so the time is included. */
  const newId = () => `${me.id}:${Date.now().toString(36)}${(++requests).toString(36)}`
  const personOf = (/** @type {string} */ id) => id.slice(0, id.lastIndexOf(':'))
  const table = /** @type {HTMLTableElement} */ (canvas.querySelector('table'))
  const layer = /** @type {HTMLElement} */ (canvas.querySelector('.pointers'))

  const model = new Model()
  const people = new People({ me, presence: () => link?.doc.presence ?? new Map() })
  const conflicts = new Conflicts()
  /** @param {string} event @param {object} data @returns {Promise<unknown>} */
  const send = (event, data) => link === null
    ? Promise.reject(Object.assign(new Error('not connected yet'), { retryable: true }))
    : link.doc.send(data, { event })
  /** @param {string} event @param {object} data @returns {boolean} */
  const signal = (event, data) => link?.doc.signal(event, data) ?? false

  const edits = createEdits({ model, send, newId, onSent })
  const sheet = createSheet({
    table,
    model,
    onType: type,
    onUndo: (cell, before) => conflicts.open.has(cell) ? take(cell) : type(cell, before),
    onCommit: (cell) => { if (conflicts.open.has(cell)) keepMine(cell) },
    onSelect (cell) {
      onSelect(cell)
      cursors.selected(cell)
    },
    onEdit: (cell) => conflicts.edits(cell),
    colorOf: (id) => personOf(id) === me.id ? undefined : people.colorOf(personOf(id))
  })
  const cursors = createCursors({ layer, sheet, people, signal })
  createConflictNotes({
    canvas, sheet, conflicts,
    personOf: (id) => people.named(id),
    onTake: take,
    onKeep: keepMine
  })

  /** @param {string} cell @param {string} text */
  function type (cell, text) {
    conflicts.typed(cell, text)
    edits.type(cell, text)
  }

  /** Sends the text again, so that it is the last one in the document's order. @param {string} cell */
  function keepMine (cell) {
    const mine = conflicts.keep(cell)
    if (mine !== undefined && mine !== model.text(cell)) type(cell, mine)
    sheet.leave(cell)
  }

  /** @param {string} cell */
  function take (cell) {
    const theirs = conflicts.take(cell)
    // what was typed here last may still be on its way
    if (theirs !== undefined && theirs !== model.text(cell)) edits.type(cell, theirs)
    sheet.leave(cell)
  }

  model.addEventListener('change', (event) => {
    const { detail } = /** @type {CustomEvent<import('./model.js').Change>} */ (event)
    const person = personOf(detail.id)
    conflicts.applied(detail, person === me.id ? null : person)
  })
  model.addEventListener('reset', () => conflicts.clear())
  model.addEventListener('load', () => conflicts.loaded((cell) => model.text(cell)))

  /** @param {Record<string, any>} change */
  function setState (change) {
    state = { ...state, ...change }
    // sent again with the next connection
    link?.doc.setState(JSON.parse(JSON.stringify(state))).catch(() => {})
  }

  people.addEventListener('color', () => {
    me.color = people.colorOf(me.id) ?? me.color
    if (kept) keep(me)
    setState({ color: me.color })
  })

  return {
    me, model, people, sheet, conflicts, send, signal, setState, newId, personOf, type,

    /**
     * @param {object} options
     * @param {import('./token.js').TokenSource} options.source
     * @param {(meta: { offset?: number }) => void} [options.onRecord]
     * @param {(changes: import('./model.js').Change[], meta: { ts: number }) => void} [options.onChanges]
     * @param {() => void} [options.onSignal]
     * @param {(problem: string, options?: { quiet: boolean }) => void} [options.onProblem]
     * @param {(state: string, reason: Error | null) => void} [options.onState]
     * @param {(loaded: { document: any }) => void} [options.onLoad]
     * @param {string[]} [options.transports]
     * @param {boolean} [options.msgpack]
     */
    async open ({
      onRecord = () => {}, onChanges = () => {}, onSignal = () => {}, onProblem = () => {}, onState = () => {},
      onLoad = () => {}, ...options
    }) {
      const opened = await openLink({
        guid, me, state, onProblem, onState,
        onLoad: (loaded) => {
          model.load(loaded.document)
          onLoad(loaded)
        },
        ...options
      })
      link = opened
      const { client, doc } = opened

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
      const signals = { pointer: cursors.onPointer, select: cursors.onSelect }
      for (const [event, listener] of Object.entries(signals)) {
        doc.on(event, (payload, meta) => {
          onSignal()
          if (payload !== null && typeof payload === 'object' && meta.from !== client.connectionId)
            listener(payload, meta)
        })
      }
      doc.on('presence', ({ joined }) => {
        people.update()
        if (joined.length > 0) cursors.tellAgain()
      })
      people.update()
      return opened
    },

    close () {
      cursors.stop()
      link?.client.close()
      link = null
    }
  }
}
