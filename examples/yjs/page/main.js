/**
 * A text that several people edit: CodeMirror 6, Yjs, inkcast. Edits are kept in the browser while there is no
 * connection, also over a reload.
 *
 * /?gateway=http://localhost:3000&document=minutes
 */
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { basicSetup } from 'codemirror'
import { connect } from 'inkcast-client'
import { InkcastProvider } from 'inkcast-yjs'
import { yCollab } from 'y-codemirror.next'
import { IndexeddbPersistence } from 'y-indexeddb'
import * as Y from 'yjs'

const query = new URLSearchParams(location.search)
const guid = query.get('document') ?? 'minutes'
const COLORS = ['#c2410c', '#15803d', '#1d4ed8', '#7e22ce', '#be185d', '#0f766e']

const doc = new Y.Doc()
const text = doc.getText('text')
const persistence = new IndexeddbPersistence(`yjs:${guid}`, doc)
const client = connect(query.get('gateway') ?? 'http://localhost:3000')
const provider = new InkcastProvider(client, guid, doc, { persistence })

// who
const color = COLORS[doc.clientID % COLORS.length]
const name = /** @type {HTMLInputElement} */ (document.querySelector('#name'))
name.value = sessionStorage.getItem('name') ?? `Guest ${doc.clientID % 1000}`
name.addEventListener('change', () => {
  sessionStorage.setItem('name', name.value)
  showMe()
})
function showMe () {
  provider.awareness.setLocalStateField('user', { name: name.value, color, colorLight: `${color}33` })
}
showMe()

const people = /** @type {HTMLElement} */ (document.querySelector('#people'))
provider.awareness.on('change', () => {
  people.replaceChildren(...[...provider.awareness.getStates()].flatMap(([id, { user }]) => {
    if (id === doc.clientID || user === undefined) return []
    const item = document.createElement('li')
    item.textContent = user.name
    item.style.setProperty('--color', user.color)
    return [item]
  }))
})

// connection
const status = /** @type {HTMLElement} */ (document.querySelector('[role=status]'))
function showStatus () {
  const { synced, unsent, status: connection } = provider
  status.dataset.state = synced ? 'online' : 'offline'
  if (synced) status.textContent = unsent ? 'saving' : 'saved'
  else status.textContent = connection === 'connected' ? 'loading' : 'offline: edits are kept here'
}
provider.on('status', showStatus)
provider.on('synced', showStatus)
provider.on('unsent', showStatus)
provider.on('error', (error) => {
  /** @type {HTMLElement} */ (document.querySelector('#error')).textContent = error.message
})

// the stored text can be edited at once, without the gateway
await persistence.whenSynced
showStatus()
const undoManager = new Y.UndoManager(text)
const view = new EditorView({
  state: EditorState.create({
    doc: text.toString(),
    extensions: [
      basicSetup,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': 'Text' }),
      yCollab(text, provider.awareness, { undoManager })
    ]
  }),
  parent: /** @type {HTMLElement} */ (document.querySelector('#editor'))
})
document.body.dataset.ready = ''

// for tests and the console
Object.assign(globalThis, { client, provider, text, view })
