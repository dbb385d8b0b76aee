import { createConnectionView } from './connection-view.js'
import { createDocumentsView } from './documents-view.js'
import { h, setText } from './dom.js'
import { createLogView } from './log-view.js'
import { STYLES } from './styles.js'
import { createTabs } from './tabs.js'
import { createWindow } from './window.js'

const LABELS = { documents: 'Documents', connection: 'Connection', log: 'Log' }

/**
 * The elements of the panel, in a shadow root.
 *
 * @param {import('../client.js').Client} client
 * @param {{ read: () => import('./model.js').View, onClose: () => void }} options
 */
export function createPanel (client, { read, onClose }) {
  const views = {
    documents: createDocumentsView(), connection: createConnectionView(client), log: createLogView()
  }
  const host = document.createElement('inkcast-devtools')
  const root = host.attachShadow({ mode: 'open' })
  // not a <style> element: pages with a Content-Security-Policy refuse those
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLES)
  root.adoptedStyleSheets = [sheet]

  const summary = h('span', { class: 'summary', role: 'status' })
  const mover = h('button', {
    type: 'button', class: 'mover', title: 'Move: drag, or arrow keys', 'aria-label': 'Move, with the arrow keys'
  }, '✥')
  const resizer = h('button', {
    type: 'button', class: 'resizer', title: 'Resize: drag, or arrow keys', 'aria-label': 'Resize, with the arrow keys'
  }, '⤡')
  const header = h('header', {}, resizer, mover, h('strong', {}, 'inkcast'), summary,
    h('button', { type: 'button', class: 'close', title: 'Close (Escape)', 'aria-label': 'Close', onclick: onClose }, '✕'))
  const body = h('div', { class: 'body', tabindex: '0' })
  const element = h('section', { class: 'panel', 'aria-label': 'inkcast devtools', onkeydown }, header)
  root.append(element)
  const place = createWindow(element, { header, mover, resizer })
  const tabs = createTabs({
    labels: LABELS,
    current: place.tab,
    panel: body,
    onSelect (name) {
      place.tab = name
      const view = views[/** @type {keyof typeof views} */ (name)]
      view.draw(read())
      body.replaceChildren(view.element)
    }
  })
  element.append(tabs, body)

  /** @param {KeyboardEvent} event */
  function onkeydown (event) {
    // the page's shortcuts must not react to what is typed here
    event.stopPropagation()
    if (event.key !== 'Escape') return
    const { target } = event
    if (target instanceof HTMLInputElement && target.value !== '') return // clears the filter
    onClose()
  }

  return {
    host,
    /** Draws the tab that is open. @param {import('./model.js').View} view */
    draw (view) {
      const { state, reason, transport } = view
      summary.dataset.state = state
      setText(summary, [state, transport, reason].filter((part) => part).join(' · '))
      views[/** @type {keyof typeof views} */ (place.tab)].draw(view)
    },
    focus () { element.querySelector('button')?.focus() },
    stop () { place.stop() }
  }
}
