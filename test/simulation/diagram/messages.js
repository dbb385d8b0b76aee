import { escaped, shortened } from './escape.js'
import { tierOf } from './lanes.js'

/** Arrows that are drawn. */
const MAX_ARROWS = 3000
/** Arrows up to which each has its text beside it. */
const MAX_TEXTS = 45
/** Places along an arrow that are tried for its text. */
const SHARES = [0.5, 0.3, 0.7, 0.15, 0.85]
/** Size of an arrow's head. */
const HEAD = 6

/**
 * @typedef {import('../world/trace.js').MessageEvent} MessageEvent
 *
 * @typedef {{ x: number, y: number, width: number }} Box of a text
 *
 * @typedef {object} Place
 * @property {(at: number) => number} x
 * @property {(process: string) => number | undefined} y undefined: it is hidden
 */

/**
 * @param {{ event: MessageEvent, number: number }[]} messages number: of the event in its story
 * @param {Place} place
 * @returns {{ svg: string, drawn: number }} arrows from those that write to those that read; arrows that would be drawn
 *   at the same pixels are drawn once
 */
export function arrows (messages, { x, y }) {
  const lines = []
  const taken = new Set()
  for (const { event, number } of messages) {
    const [from, to] = [y(event.from), y(event.to)]
    if (from === undefined || to === undefined || from === to) continue
    const [x1, x2] = [x(event.at), x(event.until ?? event.at)]
    const key = `${from} ${to} ${x1.toFixed(0)} ${x2.toFixed(0)} ${event.kind === 'bytes'}`
    if (taken.has(key)) continue
    taken.add(key)
    lines.push({ event, number, x1, x2, from, to })
    if (lines.length >= MAX_ARROWS) break
  }
  const isFew = lines.length <= MAX_TEXTS
  /** @type {Box[]} */
  const said = []
  const svg = lines.map(({ event, number, x1, x2, from, to }) => {
    const tier = colorOf(event)
    const open = event.kind === 'bytes' ? '' : ' open'
    const about = `<title>${escaped(aboutMessage(event))}</title>`
    if (event.until === null) {
      const end = { x: x1 + 10, y: from + Math.sign(to - from) * Math.min(16, Math.abs(to - from) / 2) }
      return `<g data-event="${number}">${about}<line class="message lost" x1="${n(x1)}" y1="${from}" x2="${n(end.x)}" ` +
        `y2="${n(end.y)}"/>${cross(end.x, end.y, 3.5)}</g>`
    }
    const text = isFew && event.kind === 'bytes' ? words(event, { x1, x2, from, to }, said) : ''
    return `<g data-event="${number}">${about}<line class="message ${tier}${open}" x1="${n(x1)}" y1="${from}" x2="${n(x2)}" ` +
      `y2="${to}"/>${head(x1, from, x2, to, tier)}${text}</g>`
  }).join('')
  return { svg, drawn: lines.length }
}

/** @param {MessageEvent} event */
export const aboutMessage = ({ from, to, at, until, kind, bytes, text }) =>
  `${from} → ${to}: ${kind === 'bytes' ? `${bytes} bytes` : kind}, sent at ${at.toFixed(3)} ms, ` +
  `${until === null ? 'lost' : `received at ${until.toFixed(3)} ms`}${kind === 'bytes' ? `\n${text}` : ''}`

/** @param {MessageEvent} event */
function colorOf ({ from, to }) {
  const tiers = [tierOf(from), tierOf(to)]
  return tiers.includes('store') ? 'store' : tiers.includes('client') ? 'client' : 'inner'
}

/**
 * @param {MessageEvent} event
 * @param {{ x1: number, x2: number, from: number, to: number }} line
 * @param {Box[]} taken by other texts; is added to
 * @returns {string} the text beside the arrow, if there is room
 */
function words ({ text }, { x1, x2, from, to }, taken) {
  const short = shortened(text, 34)
  for (const share of SHARES) {
    const box = { x: x1 + share * (x2 - x1) + 4, y: from + share * (to - from), width: short.length * 5.6 }
    if (taken.some((other) => overlap(other, box))) continue
    taken.push(box)
    return `<text class="said" x="${n(box.x)}" y="${n(box.y)}">${escaped(short)}</text>`
  }
  return ''
}

/** @param {Box} a @param {Box} b */
const overlap = (a, b) => Math.abs(a.y - b.y) < 12 && a.x < b.x + b.width && b.x < a.x + a.width

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} tier */
function head (x1, y1, x2, y2, tier) {
  const length = Math.hypot(x2 - x1, y2 - y1)
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length]
  const [bx, by] = [x2 - HEAD * ux, y2 - HEAD * uy]
  const half = HEAD / 2.4
  return `<path class="head ${tier}" d="M${n(x2)} ${n(y2)}L${n(bx - half * uy)} ${n(by + half * ux)}L${n(bx + half * uy)} ` +
    `${n(by - half * ux)}Z"/>`
}

/** @param {number} x @param {number} y @param {number} r @param {string} [more] class */
export const cross = (x, y, r, more = 'cross') =>
  `<path class="${more}" d="M${n(x - r)} ${n(y - r)}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}"/>`

/** @param {number} value */
const n = (value) => Number(value.toFixed(1))
