import { createAnnouncer } from './announcer.js'
import { createClaim } from './claim.js'
import { createComments } from './comments.js'
import { byId } from './dom.js'
import { createDrop } from './drop.js'
import { createGuests } from './guests.js'
import { createLogin } from './login.js'
import { keep, whoAmI } from './me.js'
import { createPeopleList } from './people-list.js'
import { createPhone } from './phone.js'
import { createReset } from './reset.js'
import { createSecondView } from './second-view.js'
import { Stage } from './stage.js'
import { createTerminal } from './terminal.js'
import { createTogether } from './together.js'
import { createUnderneath } from './underneath.js'
import { personOf, View } from './view.js'

const MAX_NAME = 40

const query = new URLSearchParams(location.search)
const guid = query.get('document') || 'demo'
const settings = JSON.parse(byId('settings').textContent ?? '')
/**
 * Of each connection of the page.
 * @type {{ path: string, transports?: string[], msgpack: boolean, source: import('./token.js').TokenSource }}
 */
const options = {
  path: settings.socketPath,
  transports: query.get('transports')?.split(','), msgpack: query.get('codec') === 'msgpack', source: { kind: 'none' }
}
const me = await whoAmI(createClaim(new BroadcastChannel('inkcast demo')))
const login = createLogin({ guid, user: me.id, command: settings.tokenCommand })
/** @type {string | null} the cell that was selected last */
let lastCell = null

const underneath = createUnderneath()
const view = new View({
  guid, me, canvas: byId('canvas'), kept: true,
  onSent: underneath.sent,
  onSelect (cell) {
    lastCell = cell ?? lastCell
    guests.onSelect()
  }
})
const { model, people, sheet, conflicts, send, signal, setState, newId } = view
const announcer = createAnnouncer({
  say: (text) => { byId('announcements').textContent = text },
  textOf: (cell) => model.text(cell)
})
const comments = createComments({
  model, me, send, newId,
  selected: () => lastCell,
  onShow: (cell) => sheet.bringIntoView(cell),
  onNew: announcer.comment
})
const stage = new Stage({ model, people, signal, tell: (presenting) => setState({ presenting }) })
createPeopleList({ people })
const guests = createGuests({ guid, selected: () => lastCell, options: () => options })
createPhone(settings)
createTerminal({ guid, ...settings })
createReset({ send, newId, onProblem: comments.tell })
const second = createSecondView({ guid, me, alone: query.get('views') === '1', options: () => options })
createTogether({ view, second, selected: () => lastCell })

byId('api-link', HTMLAnchorElement).href = `${settings.apiUrl}/docs/`
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

people.addEventListener('change', () => document.body.style.setProperty('--me', me.color))
document.body.style.setProperty('--me', me.color)

model.addEventListener('cells', (event) => {
  const { cells, id } = /** @type {CustomEvent<{ cells: string[], id: string }>} */ (event).detail
  const author = people.named(personOf(id))
  if (author !== undefined && author !== me) for (const cell of cells) announcer.cell(cell, author.name)
})
conflicts.addEventListener('change', () => {
  for (const [cell, { by }] of conflicts.open)
    announcer.note(`${people.named(by)?.name ?? 'Another person'} also writes in ${cell}. Choose a text after the sheet.`)
})

/** @param {string} text '' hides the message @param {{ quiet?: boolean }} [options] quiet: nothing is wrong */
function tellProblem (text, { quiet = false } = {}) {
  const problem = byId('problem')
  problem.classList.toggle('quiet', quiet)
  problem.hidden = text === ''
  problem.textContent = text
}

/** @param {string} state @param {{ code?: string, message: string } | null} reason */
function tellState (state, reason) {
  underneath.state(state, reason)
  if (state === 'refused' && reason !== null) tellRefusal(reason)
}

/** @param {{ code?: string, message: string }} reason of the gateway, for the connection or the document */
function tellRefusal ({ code = '', message }) {
  const isOfToken = ['unauthorized', 'token_expired', 'forbidden'].includes(code)
  if (!isOfToken || !login.refused(message)) tellProblem(`The gateway refuses this page: ${message}.`)
}

options.source = await login.source()
const opened = await view.open({
  ...options,
  onProblem: tellProblem,
  onState: tellState,
  onLoad: ({ document }) => { byId('title').textContent = document.title },
  onChanges: (changes, meta) => { for (const { id } of changes) underneath.came(id, meta.ts) },
  onRecord: (meta) => arrived(meta),
  onSignal: underneath.signal
}).catch((error) => {
  tellRefusal(error)
  // the page has nothing else to show
  return /** @type {Promise<never>} */ (new Promise(() => {}))
})
const { client, doc } = opened
const drop = createDrop({ client, doc })

/** Loaded only at the button. */
const showDevtools = () => import('/client/devtools/index.js').then(({ openDevtools }) => openDevtools(client))
byId('devtools').addEventListener('click', showDevtools)
if (query.has('devtools')) showDevtools()

/** @param {{ offset?: number }} meta */
function arrived ({ offset }) {
  drop.record(offset)
  underneath.record(model.version)
}

doc.on('message', (payload, meta) => {
  comments.onMessage(payload, meta)
  arrived(meta)
})
client.on('sheet:refused', ({ message }) => comments.tell(message))
doc.on('laser', (payload, meta) => {
  underneath.signal()
  if (payload !== null && typeof payload === 'object' && meta.from !== client.connectionId) stage.onLaser(payload, meta)
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

underneath.opened(opened, model.version)
document.body.dataset.ready = 'true'
second.begin()

// not part of the first view
const { mountFaults } = await import('./faults.js')
await mountFaults({ client, doc, guid, onPulse: ({ offset }) => drop.record(offset) })
