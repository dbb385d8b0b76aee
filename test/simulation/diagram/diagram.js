import { axis } from './axis.js'
import { escaped, shortened } from './escape.js'
import { lanesOf } from './lanes.js'
import { large, MAX_ROWS, ROW, small, turns } from './marks.js'
import { arrows } from './messages.js'
import { STYLE } from './style.js'
import { isWithin } from './window.js'

/** Place for the names of processes. */
const LEFT = 128
const LANE = 30
/** Share of the messages with an arrow of their own, below which the diagram says so. */
const HIDDEN = 0.8

/**
 * @typedef {import('../world/trace.js').Story} Story
 *
 * @typedef {object} View what of a story is shown
 * @property {number} from ms
 * @property {number} until ms
 * @property {number} [width]
 * @property {ReadonlySet<string>} [hidden] names of lanes
 * @property {(event: import('../world/trace.js').MessageEvent) => boolean} [shows] default: each message
 * @property {boolean} [turns] shows them
 * @property {boolean} [notes] shows them
 */

/**
 * A space-time diagram: a line for each process, time to the right, an arrow for each message. It needs no browser.
 *
 * @param {Story} story
 * @param {View} view
 * @returns {string} an SVG that needs nothing else
 */
export function diagram (story, {
  from, until, width = 1200, hidden = new Set(), shows = () => true, turns: withTurns = true, notes = true
}) {
  const window = { from, until: Math.max(until, from + 1e-3) }
  const lanes = lanesOf(story.processes).filter(({ name }) => !hidden.has(name))
  const events = story.events.map((event, number) => ({ event, number })).filter(({ event }) => isWithin(event, window))
  const rows = Math.min(MAX_ROWS, events.filter(({ event }) => event.type === 'fault' || event.type === 'violation').length)
  const top = 26 + ROW * rows
  const bottom = top + LANE * lanes.length
  const right = width - 12
  const x = (/** @type {number} */ at) => LEFT + (at - window.from) / (window.until - window.from) * (right - LEFT)
  /** @type {Map<string, number>} */
  const heights = new Map()
  for (const [i, { processes }] of lanes.entries())
    for (const { name } of processes) heights.set(name, top + LANE * (i + 0.5))
  const y = (/** @type {string} */ process) => heights.get(process)
  const place = { x, y, top, bottom, right, names: [...heights.keys()] }

  const within = (/** @type {number} */ at) => Math.min(right, Math.max(LEFT, x(at)))
  const lines = lanes.map(({ name, processes, tier }, i) => {
    const height = top + LANE * (i + 0.5)
    const border = i > 0 && lanes[i - 1].tier !== tier
      ? `<line class="grid" x1="0" x2="${right}" y1="${height - LANE / 2}" y2="${height - LANE / 2}"/>` : ''
    const lives = processes.filter(({ begin, end }) => begin <= window.until && (end ?? Infinity) >= window.from)
      .map(({ begin, end }) => `<line class="life" x1="${within(begin).toFixed(1)}" x2="${within(end ?? Infinity).toFixed(1)}" ` +
        `y1="${height}" y2="${height}"/>`)
    return `${border}<text x="8" y="${height + 4}" data-lane="${escaped(name)}">${escaped(shortened(name, 17))}</text>${lives.join('')}`
  }).join('')

  const messages = events.flatMap(({ event, number }) =>
    event.type === 'message' && heights.has(event.from) && heights.has(event.to) && shows(event) ? [{ event, number }] : [])
  const { svg: drawn, drawn: count } = arrows(messages, place)
  const more = count < HIDDEN * messages.length
    ? `<text class="more" x="${right}" y="${bottom + 15}" text-anchor="end">${count} of ${messages.length} messages drawn: zoom in, or ` +
    'filter</text>' : ''
  return `<svg xmlns="http://www.w3.org/2000/svg" class="story" viewBox="0 0 ${width} ${bottom + 22}" width="${width}" \
height="${bottom + 22}" role="img" aria-label="Space-time diagram">${STYLE}
<defs><clipPath id="within"><rect x="${LEFT}" y="0" width="${right - LEFT + 8}" height="${bottom + 22}"/></clipPath></defs>
${axis(window, { x, top, bottom, width: right - LEFT })}${lines}
<g clip-path="url(#within)">${held(story, window, { within, y })}${withTurns ? turns(events,
  place) : ''}${drawn}${small(notes ? events : events.filter(({ event }) => event.type !== 'note'), place)}</g>
${large(events, place).svg}${more}</svg>`
}

/**
 * @param {Story} story
 * @param {import('./window.js').Window} window
 * @param {{ within: (at: number) => number, y: (process: string) => number | undefined }} place
 * @returns {string} the times in which processes were stopped
 */
function held ({ events }, { from, until }, { within, y }) {
  /** @type {Map<string, number>} */
  const since = new Map()
  let svg = ''
  const draw = (/** @type {string} */ process, /** @type {number} */ end) => {
    const begin = since.get(process)
    const height = y(process)
    since.delete(process)
    if (begin === undefined || height === undefined || end < from || begin > until) return
    svg += `<line class="held" x1="${within(begin).toFixed(1)}" x2="${within(end).toFixed(1)}" y1="${height}" y2="${height}"/>`
  }
  for (const event of events) {
    if (event.type === 'pause' && event.process !== null) since.set(event.process, event.at)
    if ((event.type === 'resume' || event.type === 'end') && event.process !== null) draw(event.process, event.at)
  }
  for (const process of [...since.keys()]) draw(process, Infinity)
  return svg
}
