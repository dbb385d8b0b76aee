import { ticks } from './axis.js'
import { escaped } from './escape.js'
import { STYLE } from './style.js'
import { wholeOf } from './window.js'

const HEIGHT = 62
/** Height of the bars of messages. */
const BARS = 34

/**
 * The whole story in a strip: how much is written when, faults, violations, and the part that a diagram shows.
 *
 * @param {import('../world/trace.js').Story} story
 * @param {import('./window.js').Window & { width?: number }} view
 * @returns {string} SVG
 */
export function overview (story, { from, until, width = 1200 }) {
  const whole = wholeOf(story)
  const x = (/** @type {number} */ at) => (at - whole.from) / (whole.until - whole.from) * width
  const counts = new Uint32Array(Math.ceil(width / 2))
  for (const event of story.events)
    if (event.type === 'message') counts[Math.min(counts.length - 1, Math.floor(x(event.at) / 2))]++
  const most = counts.reduce((a, b) => Math.max(a, b), 1)
  let bars = ''
  // one busy moment hides no quiet time
  for (const [i, count] of counts.entries()) if (count > 0) bars += `M${2 * i + 1} ${BARS}v-${(BARS * Math.sqrt(count / most)).toFixed(1)}`
  const marks = story.events.flatMap((event, number) => event.type !== 'fault' && event.type !== 'violation' ? []
    : `<line class="${event.type}" data-event="${number}" x1="${x(event.at).toFixed(1)}" x2="${x(event.at).toFixed(1)}" y1="0" ` +
      `y2="${BARS + 6}"><title>${escaped(event.text)}</title></line>`)
  const times = ticks(whole, Math.max(2, width / 110)).filter(({ at }) => x(at) > 12 && x(at) < width - 12)
    .map(({ at, label }) => `<text class="time" x="${x(at).toFixed(1)}" y="${HEIGHT - 6}" text-anchor="middle">${escaped(label)}</text>`)
  const left = x(from)
  return `<svg xmlns="http://www.w3.org/2000/svg" class="story" viewBox="0 0 ${width} ${HEIGHT}" width="${width}" height="${HEIGHT}" \
role="img" aria-label="Overview">${STYLE}
<path d="${bars}" stroke="var(--line)" stroke-width="2"/><line class="grid" x1="0" x2="${width}" y1="${BARS}" \
y2="${BARS}"/>${marks.join('')}${times.join('')}
<rect x="${left.toFixed(1)}" y="1" width="${Math.max(3, x(until) - left).toFixed(1)}" height="${BARS + 8}" fill="var(--client)" \
fill-opacity=".16" stroke="var(--client)"/></svg>`
}
