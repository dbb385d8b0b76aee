/**
 * The report of a load run: one HTML file that needs nothing else.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { PROTOCOLS } from './plan.js'

/**
 * @typedef {import('./run.js').Result} Result
 * @typedef {import('./samples.js').Sample} Sample
 * @typedef {{ title: string, unit: string, lines: { label: string, values: (number | null)[] }[] }} Plot
 */

const COLORS = ['#2563eb', '#d97706', '#059669', '#dc2626', '#7c3aed', '#0891b2', '#be185d', '#4d7c0f']

/**
 * @param {{ name: string, result: Result }[]} runs one or more, each with its own plots
 * @param {{ title: string, intro?: string }} [page] intro: HTML above the runs
 * @returns {string} HTML
 */
export function reportOf (runs, { title, intro = '' } = { title: 'inkcast load' }) {
  return plotPage({
    title,
    started: runs[0].result.started,
    intro,
    unit: 's',
    sections: runs.map((run) => {
      const { samples } = run.result
      return { html: sectionOf(run), at: samples.map(({ at }) => at), plots: plotsOf(samples) }
    })
  })
}

/**
 * @param {object} page
 * @param {string} page.title
 * @param {string} page.started time
 * @param {string} page.intro HTML above the sections
 * @param {string} page.unit of the times
 * @param {{ html: string, at: number[], plots: Plot[] }[]} page.sections html: above the plots
 * @returns {string} HTML
 */
export function plotPage ({ title, started, intro, unit, sections }) {
  const uplot = path.dirname(createRequire(import.meta.url).resolve('uplot/package.json'))
  const file = (/** @type {string} */ name) => readFileSync(path.join(uplot, 'dist', name), 'utf8')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(`${title} ${started}`)}</title>
<style>
${file('uPlot.min.css')}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1180px; padding: 0 1rem; color: #1f2937; background: #fff }
table { border-collapse: collapse; margin: 1rem 0 } th, td { text-align: left; padding: .2rem 1.5rem .2rem 0; border-bottom: 1px solid \
#e5e7eb }
.ok { color: #047857 } .bad { color: #b91c1c } .ok, .bad { font-weight: 600 }
.devices { display: flex; flex-wrap: wrap; gap: 1rem } .devices div { border: 1px solid #e5e7eb; border-radius: 6px; padding: .5rem 1rem }
.devices dt { color: #6b7280; font-size: 13px } .devices dd { margin: 0; font-size: 20px; font-weight: 600 }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(540px, 1fr)); gap: 1.5rem }
</style>
<h1>${escaped(title)}</h1>
${intro}
${sections.map(({ html }, i) => `${html}\n<div class="plots" id="plots-${i}"></div>`).join('\n')}
<script>
${file('uPlot.iife.min.js')}
</script>
<script type="application/json" id="data">${forScript(sections.map(({ at, plots }) => ({ at, plots })))}</script>
<script>
const colors = ${JSON.stringify(COLORS)}
JSON.parse(document.getElementById('data').textContent).forEach(({ at, plots }, run) => {
  for (const { title, unit, lines } of plots) {
    new uPlot({
      title: title + (unit === '' ? '' : ', ' + unit), width: 540, height: 240, scales: { x: { time: false } },
      series: [{ label: '${unit}' }, ...lines.map(({ label }, i) =>
        ({ label, stroke: colors[i % colors.length], width: 1.5, spanGaps: true }))],
      axes: [{}, { size: 70 }]
    }, [at, ...lines.map(({ values }) => values)], document.getElementById('plots-' + run))
  }
})
</script>
</html>
`
}

/** @param {{ name: string, result: Result }} run */
function sectionOf ({ name, result }) {
  const { ok, problems, started, target, run, plan } = result
  return `<h2>${escaped(name)}</h2>
<p class="${ok ? 'ok' : 'bad'}">${ok ? 'No delivery and no receipt is missing.' : problems.map(escaped).join('<br>')}</p>
<p>${escaped(`${started}, ${target}, run ${run}`)}</p>
<dl class="devices">${devicesOf(result).map(tile).join('')}</dl>
<table>${othersOf(result).map(([name, value]) => `<tr><th>${escaped(name)}</th><td>${escaped(value)}</td></tr>`).join('\n')}</table>
<details><summary>Options</summary><pre>${escaped(JSON.stringify(plan, null, 2))}</pre></details>`
}

/** @param {[string, string]} figure */
const tile = ([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`

/** @param {Result} result @returns {[string, string][]} the figures, also for the terminal */
export const rowsOf = (result) => [...devicesOf(result), ...othersOf(result)]

/** @param {Result} result @returns {[string, string][]} */
function othersOf ({ summary, published, seconds, missing, unconfirmed }) {
  const { latency, handshake } = summary
  const errors = Object.entries(summary.errors).map(([reason, count]) => `${count} × ${reason}`).join(', ')
  return [
    ['duration', `${seconds.toFixed(0)} s`],
    ['handshake p50, p99, max', quantiles(handshake)],
    ['published', `${number(published.everyone)} to everyone, ${number(published.documents)} to documents`],
    ['deliveries', `${number(summary.deliveries)}, at most ${number(summary.peakDeliveriesPerSecond)}/s`],
    ['latency p50, p99, max', quantiles(latency)],
    ['missing deliveries', number(missing.everyone + missing.documents)],
    ['holes, duplicates', `${number(summary.holes)}, ${number(summary.doubled)}`],
    ['receipts', `${number(summary.acknowledged)} sent, ${number(unconfirmed)} missing`],
    ['left, reconnects', `${number(summary.left)}, ${number(summary.reconnects)}`],
    ['server', `at most ${summary.peakCores.toFixed(2)} cores, ${number(summary.peakMemory / 1e6)} MB`],
    ...costsOf(summary),
    ['errors', errors === '' ? 'none' : errors]
  ]
}

/**
 * The figures that systems for devices are compared by.
 * @param {Result} result
 * @returns {[string, string][]}
 */
const devicesOf = ({ plan, summary: { held, peakConnectionsPerSecond, expired, peakExpiredPerSecond } }) => [
  ['protocol', PROTOCOLS[plan.protocol]],
  ['connections held', `${number(held)} of ${number(plan.connections)}`],
  ['connections per second', `at most ${number(peakConnectionsPerSecond)}`],
  ['expired and removed', expired === 0 ? 'none' : `${number(expired)}, at most ${number(peakExpiredPerSecond)} per second`]
]

/**
 * What the server spent, all its processes together, idle connections and publishing included.
 * @param {Result['summary']} summary
 * @returns {[string, string][]}
 */
function costsOf ({ phases, connections, memoryBefore, memoryHeld, memoryAfter }) {
  const { connect, hold } = phases
  /** @type {[string, string][]} */
  const costs = []
  if (connect?.cpu > 0 && connect.opened > 0)
    costs.push(['CPU per connection opened', `${micro(connect.cpu / connect.opened)}: ${number(connect.opened / connect.cpu)}/s per core`])
  if (hold?.cpu > 0 && hold.deliveries > 0)
    costs.push(['CPU per delivery, while held', `${micro(hold.cpu / hold.deliveries)}: ${number(hold.deliveries / hold.cpu)}/s per core`])
  if (memoryBefore > 0 && memoryHeld > memoryBefore && connections > 0) {
    const each = (/** @type {number} */ memory) => ((memory - memoryBefore) / connections / 1000).toFixed(1)
    costs.push(['memory per connection', `${each(memoryHeld)} kB when all were connected, ${each(memoryAfter)} kB at the end`])
  }
  return costs
}

/** @param {number} seconds */
const micro = (seconds) => `${(seconds * 1e6).toFixed(1)} µs`

/** @param {Sample[]} samples @returns {Plot[]} */
export function plotsOf (samples) {
  /** @param {string} label @param {keyof Sample} key */
  const line = (label, key) => ({ label, values: samples.map((sample) => /** @type {number | null} */ (sample[key])) })
  const names = [...new Set(samples.flatMap(({ usage }) => usage.map(({ name }) => name)))]
  /** @param {'cores' | 'memory'} key @param {number} unit */
  const byProcess = (key, unit) => names.map((label) => ({
    label,
    values: samples.map(({ usage }) => {
      const value = usage.find(({ name }) => name === label)?.[key]
      return value === undefined ? null : value / unit
    })
  }))
  return [
    { title: 'Connections', unit: '', lines: [line('open', 'connections')] },
    {
      title: 'Connections per second', unit: '/s',
      lines: [line('opened', 'connectionsPerSecond'), line('left', 'left'), line('expired', 'expired')]
    },
    { title: 'Deliveries', unit: '/s', lines: [line('deliveries', 'deliveriesPerSecond')] },
    { title: 'Latency', unit: 'ms', lines: [line('p50', 'p50'), line('p99', 'p99'), line('max', 'max')] },
    { title: 'CPU of the server\'s processes', unit: 'cores', lines: byProcess('cores', 1) },
    { title: 'Memory of the server\'s processes', unit: 'MB', lines: byProcess('memory', 1e6) },
    { title: 'Holes', unit: '', lines: [line('holes', 'holes')] },
    { title: 'Reconnects and errors', unit: '/s', lines: [line('reconnects', 'reconnects'), line('errors', 'errors')] }
  ]
}

/** @param {number} value */
const number = (value) => Math.round(value).toLocaleString('en-US')

/** @param {{ p50: number | null, p99: number | null, max: number | null }} values */
const quantiles = ({ p50, p99, max }) =>
  [p50, p99, max].map((ms) => ms === null ? '-' : `${ms.toFixed(1)} ms`).join(', ')

/** @param {string} text */
export const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`)

/** @param {unknown} value @returns {string} JSON that does not end a script element */
const forScript = (value) => JSON.stringify(value).replaceAll('<', '\\u003c')
