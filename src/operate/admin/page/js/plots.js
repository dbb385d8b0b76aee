import uPlot from '/vendor/uPlot.esm.js'
import { element } from './dom.js'
import { short } from './format.js'

/**
 * The plots of the last hour.
 *
 * @typedef {import('./api.js').Sample} Sample
 * @typedef {{ label: string, color: string, of: (sample: Sample) => number | null }} Line
 * @typedef {{ title: string, unit: string, lines: Line[], needsKafka?: boolean }} Plot
 */

const HEIGHT = 170

/** @param {string} key @returns {(sample: Sample) => number | null} */
const rate = (key) => ({ seconds, values }) => seconds === 0 ? null : values[key] / seconds
/** @param {string} key @returns {(sample: Sample) => number | null} */
const perMinute = (key) => ({ seconds, values }) => seconds === 0 ? null : 60 * values[key] / seconds
/** @param {string} key @returns {(sample: Sample) => number} */
const gauge = (key) => ({ values }) => values[key]

/** @type {Plot[]} */
const PLOTS = [
  {
    title: 'Connections', unit: '',
    lines: [{ label: 'open', color: '--one', of: gauge('connections') }, { label: 'behind', color: '--two', of: gauge('behind') }]
  },
  {
    title: 'Deliveries', unit: '/s',
    lines: [{ label: 'deliveries', color: '--one', of: rate('deliveries') }, { label: 'records', color: '--three', of: rate('records') }]
  },
  {
    title: 'Handshakes', unit: '/s',
    lines: [{ label: 'admitted', color: '--one', of: rate('handshakes') }, { label: 'refused', color: '--two', of: rate('refused') }]
  },
  {
    title: 'Latency from producer to client', unit: ' ms',
    lines: [
      { label: 'p50', color: '--one', of: ({ stages }) => stages.produced_written?.p50 ?? null },
      { label: 'p99', color: '--two', of: ({ stages }) => stages.produced_written?.p99 ?? null }
    ]
  },
  { title: 'Kafka lag', unit: ' records', needsKafka: true, lines: [{ label: 'lag', color: '--four', of: gauge('lag') }] },
  {
    title: 'Load', unit: '',
    lines: [
      { label: 'cores used', color: '--one', of: rate('cpuSeconds') },
      { label: 'event loop p99, s', color: '--four', of: ({ values }) => values.loopP99 / 1000 }
    ]
  },
  {
    title: 'Reconnects and repairs', unit: '/min',
    lines: [
      { label: 'resumes', color: '--three', of: perMinute('resumes') }, { label: 'repaired', color: '--one', of: perMinute('repaired') },
      {
        label: 'resyncs', color: '--two',
        of: ({ seconds, values }) => seconds === 0 ? null : 60 * (values.resyncs + values.liveResyncs) / seconds
      }
    ]
  },
  {
    title: 'Losses', unit: '/min',
    lines: [
      { label: 'slow clients', color: '--four', of: perMinute('slow') },
      { label: 'dead letters', color: '--two', of: perMinute('deadLetters') }
    ]
  }
]

/** @param {number} at s since 1970 @returns {string} hh:mm:ss */
const clock = (at) => new Date(at * 1000).toTimeString().slice(0, 8)

/** @param {string} name of a custom property @returns {string} its color now */
function colorOf (name) {
  // light-dark() is resolved in `color` only
  const probe = element('span', { hidden: true })
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Shortest time that the plots show, s. */
const SHORTEST = 300

/**
 * @param {HTMLElement} parent
 * @returns {(samples: Sample[], options: { hasKafka: boolean }) => void} shows these samples
 */
export function createPlots (parent) {
  /** @type {Sample[]} */
  let shown = []
  let hasKafka = false
  let plots = draw(parent)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const { plot } of plots) plot.destroy()
    parent.replaceChildren()
    plots = draw(parent)
    show()
  })

  function show () {
    const times = shown.map(({ at }) => at / 1000)
    for (const { plot, figure, canvas, title, unit, lines, needsKafka } of plots) {
      figure.hidden = needsKafka === true && !hasKafka
      const values = lines.map(({ of }) => shown.map(of))
      plot.setData([times, ...values])
      // without a cursor the legend has the last values
      plot.setLegend({ idx: times.length - 1 })
      const now = lines.map(({ label }, i) => `${label} ${short(values[i].at(-1))}${unit}`).join(', ')
      canvas.setAttribute('aria-label', `${title}, last hour. Now: ${now}`)
    }
  }

  return (samples, options) => {
    shown = samples
    hasKafka = options.hasKafka
    show()
  }
}

/** @param {HTMLElement} parent */
function draw (parent) {
  const line = { stroke: colorOf('--line'), width: 1 }
  const axis = { stroke: colorOf('--soft'), grid: line, ticks: line }
  return PLOTS.map(({ title, unit, lines, needsKafka }) => {
    const canvas = element('div', { role: 'img' })
    const figure = element('figure', { class: 'card plot' }, element('figcaption', {}, title), canvas)
    parent.append(figure)
    const plot = new uPlot({
      width: Math.max(200, canvas.clientWidth),
      height: HEIGHT,
      cursor: { y: false, sync: { key: 'hour' } },
      scales: {
        x: { range: (_, first, last) => [Math.min(first ?? 0, (last ?? 0) - SHORTEST), last ?? SHORTEST] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 0) * 1.1)] }
      },
      axes: [
        { ...axis, space: 60, values: (_, ticks) => ticks.map((tick) => clock(tick).slice(0, 5)) },
        { ...axis, size: 55, values: (_, ticks) => ticks.map((tick) => short(tick)) }
      ],
      series: [
        { label: 'time', value: (_, at) => at == null ? '–' : clock(at) },
        ...lines.map(({ label, color }) => ({
          label,
          stroke: colorOf(color),
          width: 2,
          points: { show: false },
          value: (/** @type {unknown} */ _, /** @type {number | null} */ value) => `${short(value)}${unit}`
        }))
      ]
    }, [[], ...lines.map(() => [])], canvas)
    new ResizeObserver(([{ contentRect: { width } }]) => {
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT })
    }).observe(canvas)
    return { plot, figure, canvas, title, unit, lines, needsKafka }
  })
}
