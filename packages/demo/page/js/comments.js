import { arrange, byId, h } from './dom.js'

/** Maximum messages from outside that are shown with the comments; the oldest are dropped. */
const MAX_MESSAGES = 20

/**
 * Comments of the document, and messages published from outside.
 *
 * @param {object} dependencies
 * @param {import('./model.js').Model} dependencies.model
 * @param {import('./me.js').Me} dependencies.me
 * @param {(event: string, data: object) => Promise<unknown>} dependencies.send
 * @param {() => string} dependencies.newId
 * @param {() => string | null} dependencies.selected the cell that a new comment is about
 * @param {(cell: string) => void} dependencies.onShow
 * @param {(name: string, text: string) => void} dependencies.onNew a comment of another person
 */
export function createComments ({ model, me, send, newId, selected, onShow, onNew }) {
  const list = byId('comments')
  const form = byId('comment-form', HTMLFormElement)
  const field = byId('comment', HTMLInputElement)
  const about = byId('comment-about')
  const submit = byId('comment-send', HTMLButtonElement)
  /** @type {{ id: string, text: string, name: string, color: string, at: number, outside: true }[]} */
  const messages = []
  /** @type {string | null} */
  let cell = null

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const text = field.value.trim()
    if (text === '') return
    submit.disabled = true
    try {
      await send('sheet:comment', {
        id: newId(),
        text,
        name: me.name,
        color: me.color,
        ...(cell === null ? {} : { cell })
      })
      field.value = ''
      setCell(null)
      tell('')
    } catch (error) {
      tell(`Not sent: ${/** @type {Error} */ (error).message}`)
    }
    submit.disabled = false
  })
  field.addEventListener('focus', () => setCell(selected()))
  about.addEventListener('click', () => setCell(null))

  /** @param {string | null} chosen */
  function setCell (chosen) {
    cell = chosen
    about.hidden = chosen === null
    about.textContent = chosen === null ? '' : `about ${chosen} ✕`
    about.setAttribute('aria-label', `About cell ${chosen}; remove`)
  }

  /** @param {string} text */
  function tell (text) { byId('comment-problem').textContent = text }

  model.addEventListener('comments', (event) => {
    const comment = event instanceof CustomEvent ? event.detail.comment : undefined
    if (comment !== undefined && !comment.id.startsWith(`${me.id}:`)) onNew(comment.name, comment.text)
    draw()
  })

  function draw () {
    const known = new Map(Array.from(list.children, (item) => [item.getAttribute('data-id'), item]))
    const entries = [...model.comments, ...messages].sort((a, b) => b.at - a.at)
    const items = entries.map((entry) => known.get(entry.id) ?? itemOf(entry, { onShow, resolve }))
    arrange(list, items)
    byId('no-comments').hidden = items.length > 0
    byId('comments-count').textContent = items.length === 0 ? '' : String(items.length)
  }

  /** @param {string} comment */
  function resolve (comment) {
    send('sheet:resolve', { id: newId(), comment }).catch((error) => tell(`Not resolved: ${error.message}`))
  }

  return {
    /**
     * Shows a record that is not a change of the document, but was published to it directly.
     * @param {unknown} payload
     * @param {{ traceId?: string, offset?: number }} meta
     */
    onMessage (payload, { traceId }) {
      const text =
        typeof (/** @type {any} */ (payload)?.text) === 'string'
          ? /** @type {any} */ (payload).text
          : JSON.stringify(payload)
      messages.push({
        id: traceId ?? newId(),
        text: text.slice(0, 500),
        name: 'from outside',
        color: '#475569',
        at: Date.now(),
        outside: true
      })
      if (messages.length > MAX_MESSAGES) messages.shift()
      onNew('another program', text)
      draw()
    },
    tell
  }
}

/**
 * @param {any} comment
 * @param {{ onShow: (cell: string) => void, resolve: (comment: string) => void }} actions
 */
function itemOf (comment, { onShow, resolve }) {
  const { id, text, name, color, at, cell: where, outside } = comment
  const item = h(
    'li',
    { 'data-id': id, class: outside ? 'comment outside' : 'comment' },
    h(
      'p',
      { class: 'comment-head' },
      h('strong', {}, name),
      ...(where === undefined
        ? []
        : [
            h(
              'button',
              { type: 'button', class: 'chip', 'aria-label': `Show cell ${where}`, onclick: () => onShow(where) },
              where
            )
          ]),
      h(
        'time',
        { dateTime: new Date(at).toISOString() },
        new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
      ),
      ...(outside
        ? []
        : [
            h(
              'button',
              {
                type: 'button',
                class: 'resolve',
                title: 'Resolve',
                'aria-label': `Resolve the comment of ${name}`,
                onclick: () => resolve(id)
              },
              '✓'
            )
          ])
    ),
    h('p', {}, text)
  )
  item.style.setProperty('--color', color)
  return item
}
