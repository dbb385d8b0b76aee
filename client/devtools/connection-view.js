import { h, keyedList, setText } from './dom.js'
import { clockTime } from './format.js'

/**
 * The connection: present values, actions, and the latest changes of state.
 * @param {import('../client.js').Client} client
 */
export function createConnectionView (client) {
  const fields = ['url', 'transport', 'connection', 'client', 'state', 'reason']
  const values = new Map(fields.map((name) => [name, h('dd', { 'data-field': name })]))
  const list = h('ol', { class: 'rows', 'aria-label': 'Changes of state, newest first' })
  const show = keyedList(list, {
    key: (/** @type {import('./model.js').StateChange} */ change) => change,
    create: ({ at, state, reason }) => h('li', {},
      h('time', {}, clockTime(at)), h('b', { 'data-state': state }, state), h('span', {}, reason))
  })
  const element = h('div', {},
    h('dl', { class: 'fields' },
      ...[...values].map(([name, value]) => h('div', {}, h('dt', {}, name), value))),
    h('p', { class: 'actions' },
      h('button', { type: 'button', onclick: () => client.connect() }, 'Connect now'),
      h('button', { type: 'button', onclick: () => client.drop(CUT) }, `Cut for ${CUT / 1000} s`)),
    h('h3', {}, 'History'),
    list)

  return {
    element,
    /** @param {import('./model.js').View} view */
    draw ({ url, transport, connectionId, id, state, reason, changes }) {
      const now = { url, transport, connection: connectionId, client: id, state, reason }
      for (const [name, value] of Object.entries(now))
        setText(/** @type {Element} */ (values.get(name)), value === undefined || value === '' ? '–' : value)
      show([...changes].reverse())
    }
  }
}

/** Time without a connection after the button, ms. */
const CUT = 5000
