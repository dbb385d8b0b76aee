import { escaped, shortened } from './escape.js'
import { cross } from './messages.js'

/** Marks of one kind that are drawn. */
const MAX_MARKS = 1500
/** Width of a character of bold text, at most. */
const CHARACTER = 7
/** Height of a row of words, and the rows that there are. */
export const ROW = 17
export const MAX_ROWS = 5

/**
 * @typedef {import('../world/trace.js').StoryEvent} StoryEvent
 * @typedef {import('../world/trace.js').MarkEvent} MarkEvent
 * @typedef {{ event: StoryEvent, number: number }} Numbered number: of the event in its story
 *
 * @typedef {object} Place
 * @property {(at: number) => number} x
 * @property {(process: string) => number | undefined} y undefined: it is hidden
 * @property {number} top
 * @property {number} bottom
 * @property {number} right
 */

/** @param {Numbered[]} events @param {Place} place @returns {string} a small line for each turn */
export function turns (events, { x, y }) {
  const taken = new Set()
  let svg = ''
  for (const { event } of events) {
    if (event.type !== 'turn') continue
    const at = y(event.process)
    const left = Math.round(x(event.at))
    if (at === undefined || taken.has(`${at} ${left}`)) continue
    taken.add(`${at} ${left}`)
    svg += `M${left} ${at - 3}v6`
  }
  return svg === '' ? '' : `<path class="turn" d="${svg}"/>`
}

/**
 * @param {Numbered[]} events
 * @param {Place} place
 * @returns {string} starts, ends and log lines, on the line of their process
 */
export function small (events, { x, y }) {
  const shown = events.filter(({ event }) => ['note', 'start', 'end'].includes(event.type)).slice(0, MAX_MARKS)
  return shown.map(({ event, number }) => {
    const { type, at, process, text } = /** @type {MarkEvent} */ (event)
    const height = process === null ? undefined : y(process)
    if (height === undefined) return ''
    const left = Number(x(at).toFixed(1))
    const shape = type === 'note' ? `<path class="note" d="M${left} ${height - 3}l-4 -7h8z"/>`
      : type === 'start' ? `<circle class="start" cx="${left}" cy="${height}" r="4"/>`
        : text === 'killed' ? cross(left, height, 5, 'end killed') : `<path class="end" d="M${left} ${height - 7}v14"/>`
    return `<g data-event="${number}"><title>${escaped(`${process} ${text}`)}</title>${shape}</g>`
  }).join('')
}

/**
 * Faults and violations: a line from top to bottom, a spot at each process that it names, and its words above.
 * @param {Numbered[]} events
 * @param {Place & { names: readonly string[] }} place
 * @returns {{ svg: string, rows: number }} rows: of words above the diagram
 */
export function large (events, { x, y, top, bottom, right, names }) {
  const shown = events.filter(({ event }) => event.type === 'fault' || event.type === 'violation').slice(0, MAX_MARKS)
  /** Where the words of each row end. @type {number[]} */
  const rows = []
  const svg = shown.map(({ event, number }) => {
    const { type, at, process, text } = /** @type {MarkEvent} */ (event)
    const left = Number(x(at).toFixed(1))
    const words = shortened(text.split('\n')[0], 96)
    const width = words.length * CHARACTER
    // beside the line, where there is room
    const isLeft = left + 4 + width > right && left - 4 - width > 0
    const begin = isLeft ? left - 4 - width : Math.max(4, Math.min(left + 4, right - width))
    let row = rows.findIndex((end) => end < begin)
    if (row === -1) row = rows.length < MAX_ROWS ? rows.length : MAX_ROWS - 1
    rows[row] = begin + width + 12
    const named = new Set([process, ...text.split(/[^\w./-]+/)])
    const spots = names.filter((name) => named.has(name)).map((name) =>
      `<circle class="spot ${type}" cx="${left}" cy="${y(name)}" r="${type === 'fault' ? 5 : 9}"/>`)
    return `<g data-event="${number}"><title>${escaped(text)}</title><line class="${type}" x1="${left}" x2="${left}" y1="${top}" ` +
      `y2="${bottom}"/>${spots.join('')}<text class="words ${type}" ` +
      `${isLeft ? `x="${left - 4}" text-anchor="end"` : `x="${begin.toFixed(1)}"`} y="${14 + ROW * row}">${escaped(words)}</text></g>`
  }).join('')
  return { svg, rows: rows.length }
}
