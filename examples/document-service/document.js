/**
 * The document itself: a small sheet with comments. This file knows nothing of Kafka, HTTP or inkcast; a product
 * replaces it by its own model.
 *
 * A document changes only through `applyEvent`, which checks a client's request and turns it into a change. Changes are
 * numbered without gaps: `version` of a document is the number of its last change. A page with version 7 can apply
 * change 8, may drop change 7, and knows from change 9 that one is missing.
 */

export const COLUMNS = ['A', 'B', 'C', 'D', 'E']
export const ROWS = 12

/** Limits of requests; larger ones are refused. Lengths in UTF-16 code units. */
export const LIMITS = Object.freeze({ text: 200, comment: 500, name: 40, id: 64, cellsAtOnce: 60 })
/** Maximum comments of a document; the oldest are dropped. */
const MAX_COMMENTS = 200

/**
 * @typedef {object} SheetDocument
 * @property {number} version of the last change; 0: none yet
 * @property {string} title
 * @property {Record<string, string>} cells text by cell, such as `B2`; missing cells are empty
 * @property {Comment[]} comments in the order of their creation
 *
 * @typedef {object} Comment
 * @property {string} id
 * @property {string} text
 * @property {string} name of its author, as set by that client
 * @property {string} color
 * @property {number} at ms since 1970
 * @property {string} [cell] the cell that it is about
 *
 * @typedef {object} Change exactly one of `cells`, `comment`, `resolved` and `reset` is set
 * @property {number} version
 * @property {string} id the client's own id of the request, by which it recognizes its own changes
 * @property {string} by user id, from the gateway
 * @property {string} traceId
 * @property {Record<string, string>} [cells] texts by cell
 * @property {number} [base] the version that the editor's page showed: a change of the same cell with a higher version
 *   was made at the same time, and this one replaced it unseen
 * @property {Comment} [comment] a new one
 * @property {string} [resolved] id of a resolved comment
 * @property {Pick<SheetDocument, 'title' | 'cells' | 'comments'>} [reset] the first state, which is the document again
 *
 * @typedef {object} ClientEvent a client's request and its sender
 * @property {string} event one of EVENTS
 * @property {unknown} data
 * @property {string} uid
 * @property {string} traceId
 * @property {number} timestamp ms since 1970
 */

/** The request cannot be carried out; the document is unchanged. */
export class Refusal extends Error {
  /**
   * @param {string} code for programs
   * @param {string} message for people
   * @param {string} [id] of the request, if it had one
   */
  constructor (code, message, id) {
    super(message)
    this.name = 'Refusal'
    this.code = code
    this.id = id
  }
}

/** Each event of clients, and how it changes a document. */
const EVENTS = { 'sheet:edit': edit, 'sheet:comment': comment, 'sheet:resolve': resolve, 'sheet:reset': reset }

/**
 * @param {string | undefined} event
 * @returns {event is keyof typeof EVENTS} whether the event is for documents of this kind
 */
export const isDocumentEvent = (event) => event !== undefined && Object.hasOwn(EVENTS, event)

/** @returns {SheetDocument} a document before its first change */
export function createDocument () {
  return {
    version: 0,
    title: 'Launch day',
    cells: {
      A1: 'Task', B1: 'Owner', C1: 'Hours', D1: 'Status', E1: 'Note',
      A2: 'Invite the press', B2: 'Ada', C2: '6', D2: 'done',
      A3: 'Write the story', B3: 'Grace', C3: '14', D3: 'in progress', E3: 'draft is in the wiki',
      A4: 'Load test', B4: 'Edsger', C4: '9', D4: 'in progress',
      A5: 'Rehearse the demo', B5: 'Barbara', C5: '4', D5: 'to do',
      A6: 'Order the cake', B6: 'Alan', C6: '1', D6: 'to do', E6: 'no nuts, please'
    },
    comments: []
  }
}

/**
 * Carries out a client's request.
 *
 * @param {SheetDocument} document modified in place
 * @param {ClientEvent} asked
 * @returns {Change} to publish
 * @throws {Refusal} the document is unchanged then
 */
export function applyEvent (document, { event, data, uid, traceId, timestamp }) {
  if (!isDocumentEvent(event)) throw new Refusal('unknown_event', `there is no event ${event}`)
  if (typeof data !== 'object' || data === null) throw new Refusal('bad_data', 'data must be an object')
  const { id } = /** @type {{ id?: unknown }} */ (data)
  if (!isText(id, LIMITS.id)) throw new Refusal('bad_data', `id must be a string of 1 to ${LIMITS.id} characters`)
  const what = EVENTS[event](document, /** @type {Record<string, unknown>} */ (data), { id, timestamp })
  document.version++
  return { version: document.version, id, by: uid, traceId, ...what }
}

/**
 * Two people may edit a cell at the same time: the later edit in the document's order stands. `base` tells pages which
 * edits their authors had not seen, so that they can offer the replaced text.
 *
 * @param {SheetDocument} document
 * @param {Record<string, unknown>} data `{ id, cells: { B2: 'text', … }, base? }`; '' empties a cell
 * @param {{ id: string }} about
 */
function edit (document, { cells, base }, { id }) {
  const entries = typeof cells === 'object' && cells !== null ? Object.entries(cells) : []
  if (entries.length < 1 || entries.length > LIMITS.cellsAtOnce)
    throw new Refusal('bad_data', `cells must have 1 to ${LIMITS.cellsAtOnce} cells`, id)
  for (const [cell, text] of entries) {
    if (!isCell(cell)) throw new Refusal('no_such_cell', 'there is no such cell', id)
    if (typeof text !== 'string') throw new Refusal('bad_data', 'the text of a cell must be a string', id)
    if (text.length > LIMITS.text) throw new Refusal('too_long', `a cell has at most ${LIMITS.text} characters`, id)
  }
  if (base !== undefined && !(Number.isInteger(base) && Number(base) >= 0))
    throw new Refusal('bad_data', 'base must be the version of a document', id)
  for (const [cell, text] of entries) {
    if (text === '') delete document.cells[cell]
    else document.cells[cell] = text
  }
  return { cells: Object.fromEntries(entries), ...(base === undefined ? {} : { base: Number(base) }) }
}

/**
 * @param {SheetDocument} document
 * @param {Record<string, unknown>} data `{ id, text, name, color, cell? }`
 * @param {{ id: string, timestamp: number }} about
 */
function comment (document, { text, name, color, cell }, { id, timestamp }) {
  if (!isText(text, LIMITS.comment))
    throw new Refusal('bad_data', `a comment has 1 to ${LIMITS.comment} characters`, id)
  if (!isText(name, LIMITS.name)) throw new Refusal('bad_data', `name must have 1 to ${LIMITS.name} characters`, id)
  if (typeof color !== 'string' || !/^#[0-9a-f]{6}$/.test(color))
    throw new Refusal('bad_data', 'color must be like #1d3557', id)
  if (cell !== undefined && !isCell(cell)) throw new Refusal('no_such_cell', 'there is no such cell', id)
  if (document.comments.some((other) => other.id === id))
    throw new Refusal('bad_data', 'a comment with this id exists already', id)
  const made = { id, text, name, color, at: timestamp, ...(cell === undefined ? {} : { cell }) }
  document.comments.push(made)
  if (document.comments.length > MAX_COMMENTS) document.comments.shift()
  return { comment: made }
}

/**
 * @param {SheetDocument} document
 * @param {Record<string, unknown>} data `{ id, comment: id of a comment }`
 * @param {{ id: string }} about
 */
function resolve (document, { comment }, { id }) {
  const index = document.comments.findIndex((other) => other.id === comment)
  if (index === -1) throw new Refusal('no_such_comment', 'this comment was resolved already', id)
  const [{ id: resolved }] = document.comments.splice(index, 1)
  return { resolved }
}

/**
 * The document is as it was before its first change; versions go on.
 * @param {SheetDocument} document
 */
function reset (document) {
  const { title, cells, comments } = createDocument()
  Object.assign(document, { title, cells, comments })
  return { reset: structuredClone({ title, cells, comments }) }
}

/** @param {unknown} text @param {number} most @returns {text is string} */
const isText = (text, most) => typeof text === 'string' && text.trim() !== '' && text.length <= most

/** @param {unknown} cell @returns {cell is string} */
const isCell = (cell) =>
  typeof cell === 'string' && /^[A-Z][1-9]\d?$/.test(cell) && COLUMNS.includes(cell[0]) && Number(cell.slice(1)) <= ROWS
