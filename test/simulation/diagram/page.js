import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { diagram } from './diagram.js'
import { escaped } from './escape.js'
import { overview } from './overview.js'
import { around, firstWindow } from './window.js'

/** Events of a page. */
const MOST = 60_000

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #69758a; --line: #d5dae3; --paper: #fff; --panel: #f5f7fa; --bad: #d11a2a; \
--fault: #c45a00 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #97a3b6; --line: #353d4a; --paper: #171b21; --panel: #1f242c; \
--bad: #ff6b76; --fault: #ffa14d } }
* { box-sizing: border-box } body { margin: 0 auto; padding: 18px 22px; font: 14px/1.5 system-ui, sans-serif; color: var(--ink); \
background: var(--paper) }
h1 { font-size: 20px; margin: 0 0 6px } code, td, #detail { font-family: ui-monospace, monospace; font-size: 12px }
.violations { margin: 8px 0; padding: 8px 12px; border-left: 4px solid var(--bad); background: var(--panel); white-space: pre-wrap; \
overflow-wrap: anywhere }
.kept { margin: 8px 0; padding: 8px 12px; border-left: 4px solid #2e9e5b; background: var(--panel) }
ol { margin: 6px 0; padding-left: 0; list-style: none } li button, .violations button { all: unset; cursor: pointer; color: \
var(--fault); text-decoration: underline dotted }
.violations button { color: var(--bad) } li button:focus-visible, .violations button:focus-visible { outline: 2px solid }
.bar { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; margin: 10px 0 }
.bar button { font: inherit; padding: 2px 10px; border: 1px solid var(--line); border-radius: 5px; background: var(--panel); color: \
inherit; cursor: pointer }
.bar input[type=text] { font: inherit; padding: 2px 8px; border: 1px solid var(--line); border-radius: 5px; background: var(--paper); \
color: inherit; width: 15em }
#lanes { display: flex; flex-wrap: wrap; gap: 2px 12px } label { white-space: nowrap } #window, #more { color: var(--soft) }
#overview { cursor: ew-resize; touch-action: none } #diagram { cursor: grab; touch-action: none; user-select: none; border-top: 1px \
solid var(--line); border-bottom: 1px solid var(--line) }
#overview svg, #diagram svg { display: block; max-width: 100%; height: auto }
#detail { min-height: 3.2em; margin: 8px 0; white-space: pre-wrap; overflow-wrap: anywhere; padding: 6px 10px; background: var(--panel); \
border-radius: 5px }
.scroll { max-height: 420px; overflow: auto; border: 1px solid var(--line); border-radius: 5px } table { border-collapse: collapse; \
width: 100% }
td { padding: 1px 10px; vertical-align: top; border-bottom: 1px solid var(--line); white-space: nowrap } td:last-child { white-space: \
normal; overflow-wrap: anywhere }
tr { cursor: pointer } tr.turn td { color: var(--soft) } tr.fault td, tr.pause td, tr.resume td { color: var(--fault) } tr.violation td \
{ color: var(--bad); font-weight: 600 }
details summary { cursor: pointer }`

/**
 * @typedef {object} About
 * @property {number} seed
 * @property {string} scenario
 * @property {string} command that repeats it
 * @property {string[]} violations
 * @property {string[]} plan the schedule in words
 * @property {string} hash of the trace
 */

/**
 * A page with the diagram of a seed. It needs no network, and shows the first window without JavaScript as well.
 *
 * @param {import('../world/trace.js').Story} story
 * @param {About} about
 * @returns {string} HTML
 */
export function page (story, { seed, scenario, command, violations, plan, hash }) {
  const shown = around(story, MOST)
  const window = firstWindow(shown)
  const promises = violations.length === 0 ? '<p class="kept">Every promise was kept.</p>'
    : `<div class="violations">${violations.map((sentence) => lookAt(sentence, /^([\d.]+) ms: /, 1)).join('\n')}</div>`
  const schedule = plan.length === 0 ? '<p>No fault.</p>'
    : `<ol>${plan.map((line, i) => `<li>${fault(shown, line, i)}</li>`).join('')}</ol>`
  const dropped = shown.dropped === 0 ? '' : `<p>${shown.dropped} events further away from the violation are left out.</p>`
  const title = `Seed ${seed}${scenario === 'default' ? '' : ` of ${scenario}`}`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body>
<h1>${escaped(title)}</h1>
<code>${escaped(command)}</code> <span>trace ${escaped(hash)}</span>
${promises}
<details${plan.length <= 12 ? ' open' : ''}><summary>Schedule</summary>${schedule}</details>
<div class="bar">
<button id="first">${violations.length === 0 ? 'Beginning' : 'Violation'}</button><button id="fit">Everything</button>
<button id="in" aria-label="Zoom in">+</button><button id="out" aria-label="Zoom out">−</button>
<button id="back" aria-label="Earlier">←</button><button id="forth" aria-label="Later">→</button><span id="window"></span>
<label><input type="checkbox" id="turns" checked> turns</label><label><input type="checkbox" id="connections" checked> connects and \
ends</label>
<label><input type="checkbox" id="notes" checked> log lines</label><input type="text" id="text" placeholder="messages that contain …" \
aria-label="Filter messages">
</div>
<div id="overview">${overview(shown, window)}</div>
<div id="diagram">${diagram(shown, window)}</div>
<div id="detail">An arrow, a mark or a row shows its details here. Wheel: zoom; drag: move.</div>
<div class="bar"><button id="all">All processes</button><button id="none">None</button><div id="lanes"></div></div>
${dropped}
<div class="scroll"><table><tbody id="events"></tbody></table></div><span id="more"></span>
<script type="application/json" id="story">${JSON.stringify(shown).replaceAll('<', '\\u003c')}</script>
<script>${script()}</script>
</body></html>
`
}

/** @param {string} sentence that has a time in ms @param {RegExp} time @param {number} unit ms */
function lookAt (sentence, time, unit) {
  const found = time.exec(sentence)?.[1]
  return found === undefined ? escaped(sentence) : `<button data-at="${Number(found) * unit}">${escaped(sentence)}</button>`
}

/**
 * @param {import('../world/trace.js').Story} story
 * @param {string} line of the schedule
 * @param {number} number
 * @returns {string}
 */
function fault ({ events }, line, number) {
  const event = events.find(({ type, ...rest }) => type === 'fault' && 'text' in rest && rest.text === line)
  return event === undefined ? escaped(line) : `<button data-at="${event.at}" data-fault="${number}">${escaped(line)}</button>`
}

/** @returns {string} the diagram and what moves it, for a browser */
function script () {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('browser.js', import.meta.url))],
    bundle: true, format: 'iife', minify: true, write: false, target: 'es2022'
  })
  return outputFiles[0].text.replaceAll('</script', '<\\/script')
}
