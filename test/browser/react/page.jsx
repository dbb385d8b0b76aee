import { hotReload } from './hot-reload.jsx'
import { Component, StrictMode, useEffect, useState, version } from 'react'
import { createRoot } from 'react-dom/client'
import { connect } from 'inkcast-client'
import { InkcastProvider, useConnection, useDocument, usePresence, useSignal } from 'inkcast-react'

const query = new URLSearchParams(location.search)
const gateway = query.get('gateway')
window.log = []
window.records = []
const options = {
  id: query.get('name'),
  log: ({ what, guid }) => window.log.push(`${what} ${guid ?? ''}`.trim()),
  ...(query.has('outbox') && { outbox: { user: query.get('name') } })
}
const client = query.has('url') ? null : connect(gateway, options)
window.client = client
window.loads = 0
window.renders = 0

async function load ({ position }) {
  window.loads++
  return { data: [`loaded at ${position.offset}`], position }
}

function Doc ({ guid }) {
  window.renders++
  const [renderedFor, setRenderedFor] = useState('first')
  window.setRenderedFor = setRenderedFor
  const { data, doc, status, error, pending } = useDocument(guid, {
    initial: query.has('initial') ? [`initial of ${guid}`] : [],
    load: query.has('load') ? load : undefined,
    reduce (items, { event, payload }) {
      if (query.has('throwing')) throw new Error('of the page')
      return event === 'message' ? [...items, payload] : items
    },
    state: { name: query.get('name') },
    onRecord: ({ event, payload }) => window.records.push(`${renderedFor} ${event} ${payload}`),
    throwErrors: query.has('boundary'),
    offline: query.has('outbox')
  })
  window.doc = doc
  const { members, count } = usePresence(doc)
  const [cursor, setCursor] = useState('')
  // runs after the hooks' own effects
  useEffect(() => { window.effectsFor = renderedFor })
  const signal = useSignal(doc, 'cursor', (data) => setCursor(JSON.stringify(data)))
  window.signal = signal
  return (
    <section>
      <output id='status'>{status}</output>
      <output id='error'>{error?.code}</output>
      <output id='pending'>{pending.length}</output>
      <output id='members'>{members.map(({ state }) => state.name).sort().join()} {count}</output>
      <output id='cursor'>{cursor}</output>
      <ul>{data.map((item, i) => <li key={i}>{item}</li>)}</ul>
    </section>
  )
}

window.hotReload = () => hotReload(Doc)

class Boundary extends Component {
  state = { error: null }
  static getDerivedStateFromError (error) { return { error } }
  render () { return this.state.error === null ? this.props.children : <output id='caught'>{this.state.error.code}</output> }
}

function App () {
  const { state } = useConnection()
  const [guid, setGuid] = useState(query.get('guid'))
  window.setGuid = setGuid
  return (
    <main>
      <output id='version'>{version}</output>
      <output id='state'>{state}</output>
      {guid !== null && <Boundary key={guid}><Doc guid={guid} /></Boundary>}
    </main>
  )
}

function Page () {
  const [url, setUrl] = useState(gateway)
  window.setUrl = setUrl
  // a new object in each render
  if (query.has('url')) return url && <InkcastProvider url={url} options={{ ...options }}><App /></InkcastProvider>
  return <InkcastProvider client={client}><App /></InkcastProvider>
}

const app = <Page />
createRoot(document.getElementById('root')).render(query.has('strict') ? <StrictMode>{app}</StrictMode> : app)
