import { h } from './dom.js'
import { number } from './faults-words.js'

/**
 * A crowd: many guests with real connections, from a process of its own on the machine of the gateway.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {(method: string, path: string, body?: object) => Promise<void>} dependencies.tell
 */
export function createCrowd ({ guid, tell }) {
  const bring = h('button', { type: 'button', id: 'crowd' }, 'Bring in 1,000 guests')
  const remove = h('button', { type: 'button', id: 'crowd-leave', hidden: true }, 'Remove the crowd')
  const figures = h('p', { id: 'crowd-figures', class: 'tally', hidden: true })

  bring.addEventListener('click', () => tell('POST', '/crowd', { document: guid }))
  remove.addEventListener('click', () => {
    tell('DELETE', '/crowd')
    bring.focus()
  })

  return {
    element: h(
      'div', { class: 'crowd' },
      h('h3', {}, 'A crowd'),
      h('div', { class: 'buttons' }, bring, remove),
      figures,
      h(
        'details', { class: 'how' },
        h('summary', {}, 'How this is done'),
        h(
          'p', {},
          'A process beside the gateway opens 1,000 WebSocket connections to this document, reads every record, and checks that no ' +
          'offset is skipped. After two minutes, or with the button, they leave. The same from a terminal: ',
          h('code', {}, 'npm run crowd'), '.'
        ),
        h(
          'p', { class: 'links' }, h('a', { href: '/docs/demo.html#break-it' }, 'Break it'), ' ',
          h('a', { href: '/docs/load.html' }, 'More load')
        )
      )
    ),

    /** @param {import('./faults-control.js').Crowd | null} crowd */
    show (crowd) {
      const running = crowd?.running === true
      bring.disabled = running
      remove.hidden = !running
      figures.hidden = crowd === null
      if (crowd === null) return
      const { connected, guests, perSecond, deliveries, lost, left, reconnects } = crowd
      figures.textContent = running
        ? `${number(connected)} of ${number(guests)} guests · ${number(perSecond)} deliveries/s · ${number(reconnects)} reconnects · ` +
        `${number(lost)} lost · ${left} s left`
        : `The crowd has left: ${number(deliveries)} deliveries, ${number(reconnects)} reconnects, ${number(lost)} lost.`
      figures.dataset.lost = String(lost)
    }
  }
}
