import { h } from './dom.js'

/**
 * Tabs by the ARIA pattern: one stop of the Tab key, arrow keys between them.
 *
 * @param {object} options
 * @param {Record<string, string>} options.labels by name
 * @param {string} options.current name; another one than those of `labels`: the first
 * @param {HTMLElement} options.panel whose content belongs to the current tab
 * @param {(name: string) => void} options.onSelect
 */
export function createTabs ({ labels, current, panel, onSelect }) {
  const names = Object.keys(labels)
  const buttons = names.map((name) =>
    h('button', { type: 'button', role: 'tab', id: `tab-${name}`, onclick: () => select(name) }, labels[name]))
  const element = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views', onkeydown: onKey }, ...buttons)
  panel.setAttribute('role', 'tabpanel')

  /** @param {string} name */
  function select (name) {
    names.forEach((other, i) => {
      buttons[i].setAttribute('aria-selected', String(other === name))
      buttons[i].tabIndex = other === name ? 0 : -1
    })
    panel.setAttribute('aria-labelledby', `tab-${name}`)
    onSelect(name)
  }

  /** @param {KeyboardEvent} event */
  function onKey (event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = (buttons.indexOf(/** @type {any} */ (event.target)) + step + buttons.length) % buttons.length
    select(names[next])
    buttons[next].focus()
  }

  select(names.includes(current) ? current : names[0])
  return element
}
