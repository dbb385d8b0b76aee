import { useConnection, useDocument } from 'inkcast-react'

const append = (items, { event, payload }) => event === 'message' ? [...items, payload.text] : items

export function List ({ guid }) {
  const { state } = useConnection()
  const { data: items, doc, error } = useDocument(guid, { initial: [], reduce: append })

  async function add (event) {
    event.preventDefault()
    const field = event.target.elements.text
    await doc.send({ text: field.value })
    field.value = ''
  }

  return (
    <main>
      <p role='status'>{error?.message ?? state}</p>
      <ul>{items.map((text, i) => <li key={i}>{text}</li>)}</ul>
      <form onSubmit={add}><input name='text' aria-label='text' /><button disabled={doc === null}>Add</button></form>
    </main>
  )
}
