/**
 * Rich text that several people edit: Tiptap, Yjs, inkcast. inkcast-yjs-server stores it.
 *
 * /?gateway=http://localhost:3000&document=notes
 */
import { Editor } from '@tiptap/core'
import Collaboration from '@tiptap/extension-collaboration'
import StarterKit from '@tiptap/starter-kit'
import { connect } from 'inkcast-client'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'

const query = new URLSearchParams(location.search)
const doc = new Y.Doc()
const client = connect(query.get('gateway') ?? 'http://localhost:3000')
const provider = new InkcastProvider(client, query.get('document') ?? 'notes', doc)
const status = /** @type {HTMLElement} */ (document.querySelector('[role=status]'))

function showStatus () {
  if (provider.synced) status.textContent = provider.unsent ? 'saving' : 'saved'
  else status.textContent = 'connecting'
}
provider.on('synced', showStatus)
provider.on('unsent', showStatus)
provider.on('error', (error) => { status.textContent = error.message })

await provider.whenSynced
new Editor({
  element: /** @type {HTMLElement} */ (document.querySelector('#editor')),
  // Yjs has an undo of its own, which leaves the edits of others
  extensions: [StarterKit.configure({ undoRedo: false }), Collaboration.configure({ document: doc })]
})
