import { h, keyedList, setText } from './dom.js'
import { clockTime, count, detailText, duration, rate } from './format.js'

/** @typedef {import('./model.js').DocumentView} DocumentView */

/**
 * @typedef {object} Field of a document
 * @property {string} name
 * @property {(document: DocumentView) => string} text
 * @property {(document: DocumentView) => boolean} [warns] whether it needs attention
 */

/** @type {Field[]} */
const FIELDS = [
  {
    name: 'position',
    text: ({ position }) => position === null ? '–' : `${position.epoch || '?'} : ${position.offset}`
  },
  { name: 'records', text: ({ records, perSecond }) => `${records}, ${rate(perSecond)}` },
  { name: 'gaps', text: ({ gaps }) => String(gaps) },
  { name: 'resyncs', text: ({ resyncs }) => String(resyncs), warns: ({ resyncs }) => resyncs > 0 },
  { name: 'held', text: ({ held }) => count(held, 'event'), warns: ({ held }) => held > 0 },
  {
    name: 'queued',
    text: ({ pendingCount }) => count(pendingCount, 'send'),
    warns: ({ pendingCount }) => pendingCount > 0
  },
  { name: 'present', text: ({ members }) => count(members, 'member') },
  {
    name: 'signals',
    text: ({ signals: { sent, dropped, refused } }) => `${sent} sent, ${dropped} dropped${refused ? ' (read only)' : ''}`,
    warns: ({ signals: { dropped, refused } }) => refused || dropped > 0
  },
  {
    name: 'opened',
    text: ({ handles, listeners }) => `${count(handles, 'time')}, ${count(listeners, 'listener')}`
  }
]

/** Names of waits that are plural. */
const PLURAL = /^(events|queued sends)$/

/** The open documents. */
export function createDocumentsView () {
  const list = h('div', { class: 'documents' })
  const empty = h('p', { class: 'empty' }, 'This client has no document open.')
  const show = keyedList(list, {
    key: (/** @type {DocumentView} */ { guid }) => guid,
    create: createDocument,
    update: (element, document) => /** @type {any} */ (element).draw(document)
  })
  return {
    element: h('div', {}, empty, list),
    /** @param {import('./model.js').View} view */
    draw ({ documents }) {
      empty.hidden = documents.length > 0
      show(documents)
    }
  }
}

/** @param {DocumentView} document */
function createDocument ({ guid }) {
  const status = h('b', { class: 'status' })
  const values = FIELDS.map(({ name }) => h('dd', { 'data-field': name }))
  const lists = {
    waits: createList('Waits', ({ name, for: reason, ms, longer }) =>
      `${name} ${PLURAL.test(name) ? 'wait' : 'waits'} for ${reason}, ${longer ? 'at least ' : ''}${duration(ms)}`),
    repairs: createList('Gaps and resyncs', ({ at, what, detail }) =>
      `${clockTime(at)} ${what} ${detailText(detail)}`.trim()),
    pending: createList('Queued sends', ({ event, ms }) => `${event}, ${duration(ms)}`)
  }
  const element = h('details', { open: true, class: 'document', 'data-guid': guid },
    h('summary', {}, h('span', { class: 'guid' }, guid), ' ', status),
    h('dl', { class: 'fields' }, ...FIELDS.map(({ name }, i) => h('div', {}, h('dt', {}, name), values[i]))),
    ...Object.values(lists).map((list) => list.element))

  return Object.assign(element, {
    /** @param {DocumentView} document */
    draw (document) {
      setText(status, document.status)
      status.dataset.state = document.status
      FIELDS.forEach(({ text, warns }, i) => {
        setText(values[i], text(document))
        values[i].toggleAttribute('data-warns', warns?.(document) ?? false)
      })
      lists.waits.draw(document.waits)
      lists.repairs.draw([...document.repairs].reverse())
      lists.pending.draw(document.pending)
    }
  })
}

/**
 * A titled list of texts, hidden while it is empty.
 * @param {string} title
 * @param {(item: any) => string} text
 */
function createList (title, text) {
  const list = h('ul', {})
  const element = h('div', { class: 'list', hidden: true, 'data-list': title }, h('h3', {}, title), list)
  const show = keyedList(list, {
    key: (/** @type {{ key: number }} */ { key }) => key,
    create: () => h('li'),
    update: (row, /** @type {any} */ { item }) => setText(row, text(item))
  })
  return {
    element,
    /** @param {readonly object[]} items */
    draw (items) {
      element.hidden = items.length === 0
      show(items.map((item, key) => ({ key, item })))
    }
  }
}
