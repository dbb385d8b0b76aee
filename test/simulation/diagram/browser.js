/**
 * The page of a failure in a browser: zoom, filters and details. Bundled into the page by page.js.
 */
import { diagram } from './diagram.js'
import { lanesOf } from './lanes.js'
import { aboutMessage } from './messages.js'
import { overview } from './overview.js'
import { firstWindow, isWithin, wholeOf } from './window.js'

/** Rows of the list of events. */
const ROWS = 400
/** Share of the window that a step moves. */
const STEP = 0.3
/** Shortest window, ms. */
const SHORTEST = 0.05

/** @typedef {import('../world/trace.js').StoryEvent} StoryEvent */

/** @param {string} id @returns {any} */
const element = (id) => document.getElementById(id)

/** @type {import('../world/trace.js').Story} */
const story = JSON.parse(element('story').textContent)
const whole = wholeOf(story)
const lanes = lanesOf(story.processes)
/** @type {Set<string>} */
const hidden = new Set()
let view = firstWindow(story)
let isWaiting = false

/** @param {number} from @param {number} until */
function show (from, until) {
  const length = Math.min(Math.max(until - from, SHORTEST), whole.until - whole.from)
  const begin = Math.min(Math.max(from, whole.from), whole.until - length)
  view = { from: begin, until: begin + length }
  if (isWaiting) return
  isWaiting = true
  requestAnimationFrame(() => {
    isWaiting = false
    draw()
  })
}

/** @param {StoryEvent} event @returns {boolean} by the filters */
function shows (event) {
  if (event.type === 'turn') return element('turns').checked
  if (event.type === 'note') return element('notes').checked
  if (event.type !== 'message') return true
  if (event.kind !== 'bytes' && !element('connections').checked) return false
  const wanted = element('text').value.toLowerCase()
  return wanted === '' || event.text.toLowerCase().includes(wanted)
}

/** @returns {Set<string>} processes that the filter leaves */
const visible = () => new Set(lanes.filter(({ name }) => !hidden.has(name)).flatMap(({ processes }) => processes)
  .map(({ name }) => name))

function draw () {
  const width = Math.max(600, element('diagram').clientWidth)
  element('diagram').innerHTML = diagram(story, {
    ...view, width, hidden, shows, turns: element('turns').checked, notes: element('notes').checked
  })
  element('overview').innerHTML = overview(story, { ...view, width })
  element('window').textContent = `${(view.from / 1000).toFixed(4)} s to ${(view.until / 1000).toFixed(4)} s`
  list()
}

function list () {
  const names = visible()
  const rows = document.createDocumentFragment()
  let count = 0
  for (const [number, event] of story.events.entries()) {
    if (!isWithin(event, view) || !shows(event)) continue
    const ends = event.type === 'message' ? [event.from, event.to] : event.process === null ? [] : [event.process]
    if (!ends.every((name) => names.has(name))) continue
    if (++count > ROWS) break
    const row = document.createElement('tr')
    row.dataset.event = String(number)
    row.className = event.type
    const cells = event.type === 'message'
      ? [`${event.from} → ${event.to}`, `${event.kind === 'bytes' ? event.text : event.kind}${event.until === null ? ' (lost)' : ''}`]
      : [event.process ?? '', event.type === 'turn' ? event.text : `${event.type}: ${event.text}`]
    for (const text of [event.at.toFixed(3), ...cells]) row.append(Object.assign(document.createElement('td'), { textContent: text }))
    rows.append(row)
  }
  element('events').replaceChildren(rows)
  element('more').textContent = count > ROWS ? `the first ${ROWS} events of this window` : `${count} events`
}

/** @param {number} factor @param {number} [at] stays where it is */
function zoom (factor, at = (view.from + view.until) / 2) {
  show(at - (at - view.from) * factor, at + (view.until - at) * factor)
}

/** @param {number} share of the window */
function move (share) {
  const by = share * (view.until - view.from)
  show(view.from + by, view.until + by)
}

/** @param {number} number of an event */
function choose (number) {
  const event = story.events[number]
  element('detail').textContent = event.type === 'message' ? aboutMessage(event)
    : `${event.at.toFixed(3)} ms ${event.process ?? ''} ${event.type}: ${event.text}`
  for (const chosen of element('diagram').querySelectorAll('.chosen')) chosen.classList.remove('chosen')
  for (const line of element('diagram').querySelectorAll(`[data-event="${number}"] :is(line, path)`)) line.classList.add('chosen')
}

/** @param {MouseEvent} event @returns {number} time under the pointer */
function timeAt (event) {
  const box = element('diagram').getBoundingClientRect()
  const [left, right] = [128, box.width - 12] // as in diagram.js
  return view.from + (event.clientX - box.left - left) / (right - left) * (view.until - view.from)
}

/** @param {number} at @param {number} [length] */
const lookAt = (at, length = view.until - view.from) => show(at - 0.8 * length, at + 0.2 * length)

for (const { name } of lanes) {
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: true })
  box.dataset.lane = name
  box.addEventListener('change', () => {
    if (box.checked) hidden.delete(name)
    else hidden.add(name)
    draw()
  })
  const label = document.createElement('label')
  label.append(box, name)
  element('lanes').append(label)
}
for (const [id, checked] of /** @type {[string, boolean][]} */ ([['all', true], ['none', false]])) {
  element(id).addEventListener('click', () => {
    for (const { name } of lanes) checked ? hidden.delete(name) : hidden.add(name)
    for (const box of element('lanes').querySelectorAll('input')) box.checked = checked
    draw()
  })
}
for (const id of ['turns', 'notes', 'connections']) element(id).addEventListener('change', draw)
element('text').addEventListener('input', draw)
element('in').addEventListener('click', () => zoom(0.5))
element('out').addEventListener('click', () => zoom(2))
element('back').addEventListener('click', () => move(-STEP))
element('forth').addEventListener('click', () => move(STEP))
element('fit').addEventListener('click', () => show(whole.from, whole.until))
element('first').addEventListener('click', () => {
  const { from, until } = firstWindow(story)
  show(from, until)
})
element('diagram').addEventListener('wheel', (/** @type {WheelEvent} */ event) => {
  if (event.shiftKey) return // scrolls the page
  event.preventDefault()
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000)
  else zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, timeAt(event))
}, { passive: false })
element('diagram').addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
  if (event.buttons === 1) move(-event.movementX / Math.max(1, element('diagram').clientWidth - 140))
})
for (const id of ['diagram', 'events']) {
  element(id).addEventListener('click', (/** @type {MouseEvent} */ event) => {
    const target = /** @type {Element} */ (event.target).closest('[data-event]')
    if (target !== null) choose(Number(target.getAttribute('data-event')))
  })
}
const overviewTime = (/** @type {PointerEvent} */ event) => {
  const box = element('overview').getBoundingClientRect()
  return whole.from + (event.clientX - box.left) / box.width * (whole.until - whole.from)
}
for (const type of ['pointerdown', 'pointermove']) {
  element('overview').addEventListener(type, (/** @type {PointerEvent} */ event) => {
    if (event.buttons !== 1) return
    const half = (view.until - view.from) / 2
    const at = overviewTime(event)
    show(at - half, at + half)
  })
}
for (const button of document.querySelectorAll('[data-at]'))
  button.addEventListener('click', () => lookAt(Number(button.getAttribute('data-at')), Math.min(200, view.until - view.from)))
document.addEventListener('keydown', (event) => {
  if (event.target instanceof HTMLInputElement && event.target.type === 'text') return
  const act = /** @type {Record<string, () => void>} */ ({
    '+': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => move(-STEP), ArrowRight: () => move(STEP),
    0: () => show(whole.from, whole.until)
  })[event.key]
  if (act === undefined) return
  event.preventDefault()
  act()
})
addEventListener('resize', draw)
draw()
