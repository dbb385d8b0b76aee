/**
 * A line plot as SVG, both axes logarithmic. Written by hand: polylines and two axes take a few lines; a plotting
 * library would add a browser's DOM.
 */
const WIDTH = 720
const HEIGHT = 400
const LEFT = 60
const RIGHT = 560
const TOP = 44
const BOTTOM = 350
const LINE_HEIGHT = 16
// distinguishable for color-blind readers (Okabe and Ito), on a light page and on a dark one
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00']
const GRAY = '#808080'

/** @typedef {{ name: string, points: [x: number, y: number][] }} Series */

/**
 * @param {object} plot
 * @param {string} plot.title
 * @param {string} plot.x label of the axis
 * @param {string} plot.y
 * @param {Series[]} plot.series at least one, with a point; all numbers positive
 * @returns {string}
 */
export function renderPlot ({ title, x, y, series }) {
  const points = series.flatMap((each) => each.points)
  const across = scale(points.map(([value]) => value), LEFT, RIGHT)
  const up = scale(points.map(([, value]) => value), BOTTOM, TOP)
  const grid = [
    ...across.ticks.map(
      (value) =>
        rule(across.at(value), TOP, across.at(value), BOTTOM) +
        text(across.at(value), BOTTOM + 18, value.toLocaleString('en'), 'text-anchor="middle"')
    ),
    ...up.ticks.map(
      (value) =>
        rule(LEFT, up.at(value), RIGHT, up.at(value)) +
        text(LEFT - 8, up.at(value) + 4, value.toLocaleString('en'), 'text-anchor="end"')
    )
  ]
  const lines = series.map((each, i) => {
    const color = COLORS[i % COLORS.length]
    const places = each.points.map(([a, b]) => [across.at(a).toFixed(1), up.at(b).toFixed(1)])
    return (
      `<polyline fill="none" stroke="${color}" stroke-width="2" points="${places.map((place) => place.join()).join(' ')}"/>` +
      places.map(([a, b]) => `<circle cx="${a}" cy="${b}" r="3" fill="${color}"/>`).join('')
    )
  })
  const names = namePlaces(series.map((each) => up.at(each.points[each.points.length - 1][1])))
    .map((place, i) => text(RIGHT + 10, place + 4, series[i].name, `fill="${COLORS[i % COLORS.length]}"`))
  const titles = [
    text(LEFT, 24, title, 'font-size="15"'),
    text((LEFT + RIGHT) / 2, HEIGHT - 12, x, 'text-anchor="middle"'),
    text(0, 0, y, `text-anchor="middle" transform="translate(14 ${(TOP + BOTTOM) / 2}) rotate(-90)"`)
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="${GRAY}">
${[...titles, ...grid, ...lines, ...names].join('\n')}
</svg>
`
}

/** @param {number[]} values @param {number} from where the lowest stands @param {number} to */
function scale (values, from, to) {
  const ticks = ticksFor(Math.min(...values), Math.max(...values))
  const [low, high] = [Math.log(ticks[0]), Math.log(ticks[ticks.length - 1])]
  return { ticks, at: (/** @type {number} */ value) => from + (Math.log(value) - low) / (high - low) * (to - from) }
}

/** Powers of ten, with 2 and 5 in between if there are few. @param {number} min @param {number} max */
function ticksFor (min, max) {
  const steps = max / min > 300 ? [1] : [1, 2, 5]
  const ticks = []
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)) + 1; power++)
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(1)))
  const first = ticks.findLastIndex((tick) => tick <= min)
  return ticks.slice(first, Math.max(ticks.findIndex((tick) => tick >= max), first + 1) + 1)
}

/**
 * Names are placed at the ends of their lines, and moved apart where these are close.
 * @param {number[]} ends
 * @returns {number[]}
 */
function namePlaces (ends) {
  const places = [...ends]
  const order = ends.map((_, i) => i).sort((a, b) => ends[a] - ends[b])
  for (const [rank, i] of order.entries())
    if (rank > 0) places[i] = Math.max(places[i], places[order[rank - 1]] + LINE_HEIGHT)
  return places
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
const rule = (x1, y1, x2, y2) =>
  `<path d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}" stroke="${GRAY}" stroke-opacity="0.25"/>`

/** @param {number} x @param {number} y @param {string} content @param {string} attributes */
const text = (x, y, content, attributes) =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`
