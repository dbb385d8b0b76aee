import { createComments } from './comments.js'
import { createCursors } from './cursors.js'
import { byId } from './dom.js'
import { createDrop } from './drop.js'
import { createEdits } from './edits.js'
import { createGuests } from './guests.js'
import { openLink } from './link.js'
import { keep, whoAmI } from './me.js'
import { Model } from './model.js'
import { People } from './people.js'
import { createSheet } from './sheet.js'
import { createStage } from './stage.js'
import { createTerminal } from './terminal.js'
import { createUnderneath } from './underneath.js'

const MAX_NAME = 40

const query = new URLSearchParams(location.search)
const guid = query.get('document') || 'demo'
const me = whoAmI()
let requests = 0
/** Id of a request: its sender and a number. A reloaded page counts from the start, so the time is included. */
const newId = () => `${me.id}:${Date.now().toString(36)}${(++requests).toString(36)}`
const personOf = (/** @type {string} */ id) => id.slice(0, id.lastIndexOf(':'))

/** @type {{ client: any, doc: any } | null} */
let link = null
/** @type {string | null} */
let lastCell = null
/** The presence state that others see. @type {Record<string, any>} */
let state = { ...me }

const model = new Model()
const people = new People({ me, presence: () => link?.doc.presence ?? new Map() })
const underneath = createUnderneath({ model })
const send = (/** @type {string} */ event, /** @type {object} */ data) =>
  link === null
    ? Promise.reject(Object.assign(new Error('not connected yet'), { retryable: true }))
    : link.doc.send(data, { event })
const signal = (/** @type {string} */ event, /** @type {object} */ data) => link?.doc.signal(event, data) ?? false

const edits = createEdits({ model, send, newId, onSent: underneath.sent })
const sheet = createSheet({
  model,
  onType: edits.type,
  onSelect (cell) {
    lastCell = cell ?? lastCell
    cursors.selected(cell)
  },
  colorOf: (id) => personOf(id) === me.id ? undefined : people.colorOf(personOf(id))
})
const cursors = createCursors({ sheet, people, signal })
const comments = createComments({
  model, me, send, newId,
  selected: () => lastCell,
  onShow: (cell) => sheet.bringIntoView(cell)
})
const stage = createStage({ model, people, signal, tell: (presenting) => setState({ presenting }) })

/** @param {Record<string, any>} change */
function setState (change) {
  state = { ...state, ...change }
  // sent again with the next connection
  link?.doc.setState(JSON.parse(JSON.stringify(state))).catch(() => {})
}

byId('title').textContent = guid
const name = byId('name', HTMLInputElement)
name.value = me.name
name.addEventListener('change', () => {
  const wanted = name.value.trim().slice(0, MAX_NAME)
  if (wanted === '') return void (name.value = me.name)
  me.name = wanted
  keep(me)
  setState({ name: wanted })
})
byId('me').style.setProperty('--color', me.color)

const settings = await fetch('/settings.json').then((answer) => answer.json())
createTerminal({ guid, ...settings })
createGuests({ guid })

/** @param {string} text '' hides the message */
function tellProblem (text) {
  const problem = byId('problem')
  problem.hidden = text === ''
  problem.textContent = text
}

const opened = await openLink({
  guid,
  me,
  transports: query.get('transports')?.split(','),
  msgpack: query.get('codec') === 'msgpack',
  onProblem: tellProblem,
  onState: underneath.state,
  onLoad: ({ document }) => {
    model.load(document)
    byId('title').textContent = document.title
  }
})
link = opened
const { client, doc } = opened
const drop = createDrop({ client, doc })

/** Loaded only when someone wants to see it. */
const showDevtools = () => import('/client/devtools/index.js').then(({ openDevtools }) => openDevtools(client))
byId('devtools').addEventListener('click', showDevtools)
if (query.has('devtools')) showDevtools()

/** @param {import('./model.js').Change[]} changes @param {{ offset?: number, ts: number }} meta */
function apply (changes, meta) {
  for (const { id } of changes) underneath.came(id, meta.ts)
  if (!model.apply(changes)) doc.reload().catch(() => {})
  arrived(meta)
}

/** @param {{ offset?: number }} meta */
function arrived ({ offset }) {
  drop.record(offset)
  underneath.record()
}

doc.on('sheet:changes', ({ changes }, meta) => apply(changes, meta))
// without a document service the events of others arrive unchanged
doc.on('sheet:edit', ({ id, cells }, meta) => apply([{ id, cells }], meta))
doc.on('sheet:comment', ({ id, text, name, color, cell }, meta) =>
  apply([{ id, comment: { id, text, name, color, cell, at: meta.ts } }], meta)
)
doc.on('sheet:resolve', ({ id, comment }, meta) => apply([{ id, resolved: comment }], meta))
doc.on('message', (payload, meta) => {
  comments.onMessage(payload, meta)
  arrived(meta)
})
client.on('sheet:refused', ({ id, message }) => {
  model.refuse(id)
  comments.tell(message)
})
for (const [event, listener] of Object.entries({
  pointer: cursors.onPointer,
  select: cursors.onSelect,
  laser: stage.onLaser
})) {
  doc.on(event, (payload, meta) => {
    underneath.signal()
    if (payload !== null && typeof payload === 'object' && meta.from !== client.connectionId) listener(payload, meta)
  })
}
doc.on('presence', ({ joined }) => {
  people.update()
  if (joined.length > 0) cursors.tellAgain()
})
/** Why the current join could not resume from this page's position. */
let gap = ''
doc.on('resync', ({ reason }) => {
  gap = ` (${reason})`
  underneath.joined(`resynced${gap}`)
})
doc.on('joined', ({ recovered }) => {
  underneath.joined(recovered ? 'resumed' : gap === '' ? 'joined' : `resynced${gap}`)
  gap = ''
})

underneath.opened(opened)
people.update()
document.body.dataset.ready = 'true'
