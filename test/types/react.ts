/** Types of inkcast-react, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import { InkcastProvider, useClient, useConnection, useDocument, usePresence, useSignal } from 'inkcast-react'
import { createElement, type FunctionComponent } from 'react'

type Events = { message: { text: string }, removed: { id: number } }
type Presence = { color: string }
type Signals = { cursor: { x: number, y: number } }

const List: FunctionComponent<{ guid: string }> = ({ guid }) => {
  const { state, reason, connect } = useConnection()
  const { doc, data, error, pending, status } = useDocument<Events, Presence, Signals, string[]>(guid, {
    initial: [],
    load: async ({ position, signal }) => {
      await fetch('/minutes', { signal })
      return { data: ['loaded'], position }
    },
    reduce: (texts, { event, payload }) => event === 'message' ? [...texts, payload.text] : texts,
    state: { color: 'red' },
    echo: undefined
  })
  const { members, count, setState } = usePresence(doc)
  const point = useSignal(doc, 'cursor', ({ x, y }) => console.log(x + y))
  const sent: boolean = point({ x: 1, y: 2 })
  console.log(sent, pending.length, error?.message, reason?.code, useClient()?.id, count, setState({ color: 'blue' }))
  // @ts-expect-error a misspelt signal
  useSignal(doc, 'cursr')
  // @ts-expect-error not a cursor
  point({ x: 1 })
  // @ts-expect-error not a state of Presence
  void setState({ colour: 'red' })
  // @ts-expect-error no such status
  if (status === 'online') connect()
  // @ts-expect-error no such state of a connection
  if (state === 'online') connect()
  return createElement('p', null, data.map((text) => text.toUpperCase()), members.map((member) => member.state?.color))
}

export const app = createElement(InkcastProvider, { url: 'http://localhost:3000' }, createElement(List, { guid: 'x' }))
