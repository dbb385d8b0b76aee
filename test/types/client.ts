/** Types of inkcast-client, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import { connect, ClientError, type Client, type Document, type Member, type Position } from 'inkcast-client'

const client: Client = connect('http://localhost:3000', {
  token: async (why) => why === 'refused' ? 'new' : 'old',
  storage: sessionStorage
})
client.on('state', (state, reason) => { if (state === 'refused') console.log(reason?.code) })
const doc: Document = await client.open('minutes', { position: { epoch: 'e', offset: 1 }, state: { color: 'red' } })
const off: () => void = doc.on('message', (payload, { epoch, offset, from }) => {
  console.log(payload, epoch?.length, offset?.toFixed(), from?.length)
})
doc.on('resync', async ({ reason }) => { await fetch('/documents/minutes?' + reason) })
doc.on('presence', ({ joined, left }) => { console.log(joined.map(({ uid }) => uid), left.length) })
const members: Member[] = [...doc.presence.values()]
const position: Position | null = doc.position
await doc.send({ text: 'hello' }, { event: 'edit', timeout: 1000 })
// @ts-expect-error a state has fields
doc.setState('red')
// @ts-expect-error there is no such state
if (client.state === 'online') off()
const error: unknown = new Error()
if (error instanceof ClientError) console.log(members, position, error.retryInMs?.toFixed(), error.serviceCode?.length)
// @ts-expect-error there is a time only if the gateway sent one
if (error instanceof ClientError) setTimeout(off, error.retryInMs * 2)

type Events = { message: { text: string }, edit: { from: number } }
type Presence = { color: string }
type Signals = { cursor: { x: number, y: number } }
const typed = await client.open<Events, Presence, Signals>('minutes', {
  state: { color: 'red' },
  load: async ({ position, signal, reason }) => {
    if (reason === 'open') await fetch('/minutes', { signal })
    return position
  },
  signal: undefined,
  timeout: undefined
})
typed.on('edit', ({ from }, { offset }) => console.log(from.toFixed(), offset?.toFixed()))
typed.once('message', ({ text }) => console.log(text.length), { signal: new AbortController().signal })
typed.on('cursor', ({ x, y }) => console.log(x + y))
typed.on('doc:status', (status) => { if (status === 'loading') console.log(typed.pending.length) })
typed.on('record:closed', (payload) => console.log(payload))
typed.signal('cursor', { x: 1, y: 2 }, { combine: false })
for (const { state } of typed.presence.values()) console.log(state?.color.length)
const { traceId }: { traceId: string } = await typed.send({ text: 'hello' })
const queued: { traceId?: string } = await typed.send({ from: 1 }, { event: 'edit', queue: true })
for await (const turn of typed) {
  if (turn.event === 'edit') console.log(turn.payload.from.toFixed(), turn.meta.traceId)
  else if (turn.event === 'resync') console.log(turn.payload.reason)
}
const { records, more } = await typed.history({ before: 10 })
console.log(traceId, queued, records.at(0)?.meta.offset, more)
// @ts-expect-error a misspelt event
typed.on('mesage', () => {})
// @ts-expect-error no such field
typed.on('edit', ({ form }) => console.log(form))
// @ts-expect-error the data of another event
typed.send({ from: 1 })
// @ts-expect-error a misspelt signal
typed.signal('cursr', { x: 1, y: 2 })
// @ts-expect-error not a state of Presence
typed.setState({ colour: 'red' })
// @ts-expect-error no such code
if (client.reason?.code === 'forbiden') off()
// @ts-expect-error no such reason
typed.on('resync', ({ reason }) => { if (reason === 'trimed') off() })
connect('http://localhost:3000', { token: undefined, id: undefined, log: true, storage: undefined })
const plain = await client.open<Events>('minutes')
plain.signal('cursor', { x: 1 })
plain.on('edit', ({ from }) => console.log(from.toFixed()))
// @ts-expect-error a misspelt event, also without types of signals
plain.on('mesage', () => {})
// @ts-expect-error the payload of an event
plain.on('edit', ({ text }) => console.log(text))
for await (const turn of plain) if (turn.event === 'edit') console.log(turn.payload.from.toFixed())
// @ts-expect-error read-only
doc.echo = true
// @ts-expect-error read-only
doc.guid = 'other'
// @ts-expect-error read-only
doc.position = null
// @ts-expect-error read-only
doc.presence = new Map()
// @ts-expect-error read-only
doc.presence.count = 1
// @ts-expect-error read-only
doc.live = true
// @ts-expect-error read-only
doc.readOnly = false
// @ts-expect-error read-only
doc.status = 'live'
// @ts-expect-error read-only
doc.ready = Promise.resolve()
// @ts-expect-error read-only
doc.pending = []
// @ts-expect-error read-only
doc.on = () => () => {}
// @ts-expect-error read-only
doc.once = () => () => {}
// @ts-expect-error read-only
client.id = 'other'
// @ts-expect-error read-only
client.url = 'https://gateway.example.com'
// @ts-expect-error read-only
client.state = 'connected'
// @ts-expect-error read-only
client.reason = null
