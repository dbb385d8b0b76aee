import { h } from './dom.js'

/**
 * The presentation: four slides, drawn from the current document, so that edits show on the slides as well.
 *
 * @typedef {object} Source
 * @property {import('./model.js').Model} model
 * @property {import('./people.js').People} people
 */

/** @type {((source: Source) => HTMLElement)[]} */
export const SLIDES = [opening, hours, voices, route]

/** @param {Source} source */
function opening ({ model, people }) {
  const names = [people.me, ...people.others()].slice(0, 24)
  return h(
    'article',
    { class: 'slide opening' },
    h('h2', {}, model.title),
    h(
      'p',
      {},
      names.length === 1 ? 'Only you are here yet.' : `${people.others().length + 1} people are watching.`
    ),
    h(
      'p',
      { class: 'faces', 'aria-hidden': 'true' },
      ...names.map(({ name, color }) => {
        const face = h('span', {}, name.split(' ')[0])
        face.style.setProperty('--color', color)
        return face
      })
    )
  )
}

/** @param {Source} source */
function hours ({ model }) {
  const rows = []
  for (let row = 2; row <= 12; row++) {
    const value = Number.parseFloat(model.text(`C${row}`).replace(',', '.'))
    if (value > 0) rows.push({ task: model.text(`A${row}`) || `row ${row}`, value })
  }
  const most = Math.max(1, ...rows.map(({ value }) => value))
  return h(
    'article',
    { class: 'slide hours' },
    h('h2', {}, 'Hours by task'),
    h(
      'ul',
      { class: 'bars' },
      ...rows.slice(0, 8).map(({ task, value }) => {
        const bar = h('span', { class: 'length' })
        bar.style.setProperty('--share', String(value / most))
        return h('li', {}, h('span', { class: 'task' }, task), bar, h('span', { class: 'value' }, String(value)))
      })
    ),
    h(
      'p',
      {},
      rows.length === 0
        ? 'Column C of the sheet has no numbers yet.'
        : `${rows.reduce((sum, { value }) => sum + value, 0)} hours in all. Change a number in the sheet and watch.`
    )
  )
}

/** @param {Source} source */
function voices ({ model }) {
  return h(
    'article',
    { class: 'slide voices' },
    h('h2', {}, 'What people say'),
    ...(model.comments.length === 0
      ? [h('p', {}, 'There are no comments yet.')]
      : model.comments
          .slice(-4)
          .reverse()
          .map(({ text, name, color }) => {
            const quote = h('blockquote', {}, h('p', {}, text), h('footer', {}, name))
            quote.style.setProperty('--color', color)
            return quote
          }))
  )
}

function route () {
  const stops = [
    ['A browser', 'doc:send'],
    ['Gateway', 'access and limits'],
    ['Kafka', 'documents.uplink'],
    ['Document service', 'checks and stores'],
    ['The log', 'offset + 1'],
    ['Everyone', 'one frame for all']
  ]
  return h('article', { class: 'slide route' },
    h('h2', {}, 'The path of a change'),
    h('ol', {}, ...stops.map(([name, what]) => h('li', {}, h('strong', {}, name), h('span', {}, what)))),
    h('p', {}, 'A client that reconnects sends its offset and gets the rest.'))
}
