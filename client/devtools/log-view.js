import { h, keyedList, setText } from './dom.js'
import { clockTime, count, detailText } from './format.js'

/** @typedef {import('../common/log.js').LogEntry} LogEntry */

/** The client's latest log entries, newest first, with a filter. */
export function createLogView () {
  /** @type {readonly LogEntry[]} */
  let entries = []
  /** @type {WeakMap<LogEntry, string>} */
  const texts = new WeakMap()
  const filter = h('input', {
    type: 'search', placeholder: 'Filter', 'aria-label': 'Filter log entries', oninput: () => redraw()
  })
  const found = h('span', { class: 'found' })
  const list = h('ol', { class: 'rows', 'aria-label': 'Log entries, newest first' })
  const show = keyedList(list, {
    key: (/** @type {LogEntry} */ entry) => entry,
    create: ({ at, what, guid, detail }) => h('li', {},
      h('time', {}, clockTime(at)), h('b', {}, what),
      h('span', {}, ...(guid === undefined ? [] : [h('i', {}, guid), ' ']), detailText(detail)))
  })

  /** @param {LogEntry} entry @returns {string} text that the filter searches */
  function textOf (entry) {
    let text = texts.get(entry)
    if (text === undefined)
      texts.set(entry, text = `${entry.what} ${entry.guid ?? ''} ${detailText(entry.detail)}`.toLowerCase())
    return text
  }

  function redraw () {
    const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word !== '')
    const matching = entries.filter((entry) => words.every((word) => textOf(entry).includes(word)))
    setText(found, words.length === 0
      ? count(entries.length, 'entry', 'entries')
      : `${matching.length} of ${count(entries.length, 'entry', 'entries')}`)
    show(matching.reverse())
  }

  return {
    element: h('div', {}, h('p', { class: 'filter' }, filter, found), list),
    /** @param {import('./model.js').View} view */
    draw (view) {
      entries = view.entries
      redraw()
    }
  }
}
