/** Types of inkcast-vue, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import { createInkcast, useClient, useConnection, useDocument, usePresence, useSignal } from 'inkcast-vue'
import { createApp, defineComponent, h, ref } from 'vue'

type Events = { message: { text: string }, removed: { id: number } }
type Presence = { color: string }
type Signals = { cursor: { x: number, y: number } }

const List = defineComponent(() => {
  const { state, reason, connect } = useConnection()
  const guid = ref('minutes')
  const { doc, data, error, pending, status } = useDocument<Events, Presence, Signals, string[]>(guid, () => ({
    initial: [],
    load: async ({ position, signal }) => {
      await fetch('/minutes', { signal })
      return { data: ['loaded'], position }
    },
    reduce: (texts, { event, payload }) => event === 'message' ? [...texts, payload.text] : texts,
    state: { color: 'red' },
    echo: undefined
  }))
  const { members, count, setState } = usePresence(doc)
  const point = useSignal(doc, 'cursor', ({ x, y }) => console.log(x + y))
  const sent: boolean = point({ x: 1, y: 2 })
  const sum: number = count.value + pending.value.length
  console.log(sent, sum, error.value?.message, reason.value?.code, useClient().value?.id, setState({ color: 'blue' }))
  // @ts-expect-error a misspelt signal
  useSignal(doc, 'cursr')
  // @ts-expect-error not a cursor
  point({ x: 1 })
  // @ts-expect-error not a state of Presence
  void setState({ colour: 'red' })
  // @ts-expect-error no such status
  if (status.value === 'online') connect()
  // @ts-expect-error no such state of a connection
  if (state.value === 'online') connect()
  return () => h('p', [data.value.map((text) => text.toUpperCase()), members.value.map((member) => member.state?.color)])
})

export const app = createApp(List).use(createInkcast({ url: 'http://localhost:3000' }))
// @ts-expect-error neither a client nor a url
createInkcast({})
