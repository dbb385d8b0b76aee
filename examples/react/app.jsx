import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { connect } from 'inkcast/client'
import { useClientState } from './use-client-state.js'
import { useDocument } from './use-document.js'

const client = connect(new URLSearchParams(location.search).get('gateway') ?? 'http://localhost:3000')

function List ({ guid }) {
  const [items, setItems] = useState([])
  const state = useClientState(client)
  const doc = useDocument(client, guid, ({ text }) => setItems((before) => [...before, text]))

  async function add (event) {
    event.preventDefault()
    const field = event.target.elements.text
    await doc.send({ text: field.value })
    field.value = ''
  }

  return (
    <main>
      <p role='status'>{state}</p>
      <ul>{items.map((text, i) => <li key={i}>{text}</li>)}</ul>
      <form onSubmit={add}><input name='text' aria-label='text' /><button disabled={doc === null}>Add</button></form>
    </main>
  )
}

createRoot(document.getElementById('root')).render(<StrictMode><List guid='list' /></StrictMode>)
