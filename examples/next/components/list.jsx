'use client'
import { useEffect, useState } from 'react'
import { connect } from 'inkcast-client'
import 'inkcast-react'

export function List ({ guid }) {
  const [items, setItems] = useState([])
  const [state, setState] = useState('connecting')
  const [doc, setDoc] = useState(null)

  useEffect(() => {
    const client = connect(new URLSearchParams(location.search).get('gateway') ?? 'http://localhost:3000')
    client.on('state', setState)
    client.open(guid, { echo: true }).then((opened) => {
      opened.on('message', ({ text }) => setItems((before) => [...before, text]))
      setDoc(opened)
    }, () => {})
    return () => client.close()
  }, [guid])

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
