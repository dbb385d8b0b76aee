/** Types of inkcast-svelte, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import { provideInkcast, useClient, useConnection, useDocument, usePresence, useSignal } from 'inkcast-svelte'
import { get, readable } from 'svelte/store'

type Events = { message: { text: string }, removed: { id: number } }
type Presence = { color: string }
type Signals = { cursor: { x: number, y: number } }

provideInkcast({ url: 'http://localhost:3000', options: { token: 'jwt' } })
// @ts-expect-error neither a client nor a url
provideInkcast({})

const connection = useConnection()
const document = useDocument<Events, Presence, Signals, string[]>(readable('minutes'), {
  initial: [],
  load: async ({ position, signal }) => {
    await fetch('/minutes', { signal })
    return { data: ['loaded'], position }
  },
  reduce: (texts, { event, payload }) => event === 'message' ? [...texts, payload.text] : texts,
  state: { color: 'red' },
  echo: undefined
})
const presence = usePresence(document)
const point = useSignal(document, 'cursor', ({ x, y }) => console.log(x + y))
const sent: boolean = point({ x: 1, y: 2 })
const { data, error, pending, status } = get(document)
const { members, count } = get(presence)
const { state, reason } = get(connection)
const sum: number = count + pending.length
console.log(sent, sum, error?.message, reason?.code, get(useClient())?.id, presence.setState({ color: 'blue' }))
console.log(data.map((text) => text.toUpperCase()), members.map((member) => member.state?.color))
// @ts-expect-error a misspelt signal
useSignal(document, 'cursr')
// @ts-expect-error not a cursor
point({ x: 1 })
// @ts-expect-error not a state of Presence
void presence.setState({ colour: 'red' })
// @ts-expect-error no such status
if (status === 'online') connection.connect()
// @ts-expect-error no such state of a connection
if (state === 'online') connection.connect()
