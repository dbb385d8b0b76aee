import { io } from '/client/socket.io.esm.min.js'

const guid = new URLSearchParams(location.search).get('document') ?? 'demo'
const show = (id, text) => { document.getElementById(id).textContent = text }
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const MAX_SHOWN = 200

const { apiUrl, needsToken } = await fetch('settings.json').then((answer) => answer.json())

show('guid', guid)
show('curl', `curl -X POST ${apiUrl}/v1/documents/${encodeURIComponent(guid)}/broadcast -H "content-type: application/json"${needsToken ? ' -H "authorization: Bearer $TOKEN"' : ''} -d '{"text":"Hello from curl"}'`)

/** Where this page is in the document's log; null until it has joined. */
let position = null

// The function is evaluated at each (re)connect, so the gateway always learns the newest position.
const socket = io({ auth: (send) => send({ documents: { [guid]: position } }), transports: ['websocket', 'polling'] })

socket.on('doc:joined', (joined) => {
  position = joined.position
  show('joined', joined.recovered ? 'resumed, nothing missed' : 'joined')
  underneath()
})

socket.on('doc:resync', ({ position: end, reason }) => {
  position = end
  add({ className: 'resync', offset: '', text: `The log does not reach back to where this page was (${reason}): a product would load the document again now.` })
})

socket.on('message', (payload, meta) => {
  if (meta.guid !== guid) return
  if (position !== null && meta.offset !== undefined) {
    if (meta.offset <= position.offset) return
    position.offset = meta.offset
  }
  show('latency', `${Math.max(0, Date.now() - meta.ts)} ms`)
  add({ offset: meta.offset === undefined ? '' : `#${meta.offset}`, text: payload?.text ?? JSON.stringify(payload) })
  underneath()
})

socket.on('connect', () => state('connected'))
socket.on('disconnect', () => state('disconnected'))
socket.on('connect_error', (error) => state('disconnected', error.message))

document.getElementById('send').addEventListener('submit', async (event) => {
  event.preventDefault()
  const field = document.getElementById('text')
  if (field.value === '') return
  const answer = await socket.timeout(10_000).emitWithAck('doc:send', { guid, data: { text: field.value } })
    .catch((error) => ({ ok: false, error: { message: error.message } }))
  if (answer.ok) field.value = ''
  else add({ className: 'resync', offset: '', text: `not sent: ${answer.error.message}` })
})

document.getElementById('drop').addEventListener('click', ({ currentTarget: button }) => {
  button.disabled = true
  socket.disconnect()
  setTimeout(() => {
    socket.connect()
    button.disabled = false
  }, 3000)
})

function add ({ className = '', offset, text }) {
  const item = document.createElement('li')
  item.className = className
  for (const [name, content] of [['offset', offset], ['text', text], ['age', new Date().toLocaleTimeString()]]) {
    const part = document.createElement('span')
    part.className = name
    part.textContent = content
    item.append(part)
  }
  const records = document.getElementById('records')
  records.prepend(item)
  while (records.childElementCount > MAX_SHOWN) records.lastElementChild.remove()
  document.getElementById('empty').hidden = true
}

function underneath () {
  show('transport', socket.io.engine?.transport.name ?? '–')
  // the first two characters of a connection id are the worker's number
  show('worker', socket.id ? String(DIGITS.indexOf(socket.id[0]) * 64 + DIGITS.indexOf(socket.id[1])) : '–')
  show('epoch', position?.epoch ?? '–')
  show('offset', position ? String(position.offset) : '–')
}

function state (name, detail = '') {
  document.getElementById('state').dataset.state = name
  show('state-text', detail ? `${name}: ${detail}` : name)
  underneath()
}
