import { keepToken, readStatus, Unauthorized } from './api.js'
import { byId, element } from './dom.js'
import { time } from './format.js'
import { createInspector } from './inspector.js'
import { createPlots } from './plots.js'
import { createViews } from './views.js'

/**
 * The status page: asks for new samples every 5 s while it is visible. `#inspector` shows the inspector in place of the
 * figures.
 */

const EVERY = 5000
const HOUR = 3_600_000

/** @type {import('./api.js').Sample[]} */
let samples = []
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
let running = false
const views = createViews()
/** @type {ReturnType<typeof createPlots> | undefined} */
let plots

/** @param {'ready' | 'warned' | 'not-ready' | 'unreachable' | 'loading'} state @param {string} text */
function showState (state, text) {
  byId('state').dataset.state = state
  byId('state-text').textContent = text
}

function showSection () {
  const isInspector = location.hash === '#inspector'
  const isOpen = byId('login').hidden
  byId('status').hidden = !isOpen || isInspector
  byId('inspector').hidden = !isOpen || !isInspector
  for (const [id, isCurrent] of /** @type {const} */ ([['to-status', !isInspector], ['to-inspector', isInspector]])) {
    if (isCurrent) byId(id).setAttribute('aria-current', 'page')
    else byId(id).removeAttribute('aria-current')
  }
}

/** @param {import('./api.js').Status} status */
function show (status) {
  const from = Date.now() - HOUR
  samples = [...samples, ...status.samples].filter(({ at }) => at > from)
  byId('login').hidden = true
  showSection()
  byId('title').textContent = `${status.host} · inkcast ${status.version}`
  const at = samples.at(-1)?.at ?? Date.now()
  if (!status.ready) showState('not-ready', `not ready · ${time(at)}`)
  else if (status.warnings.length > 0) showState('warned', `ready, with warnings · ${time(at)}`)
  else showState('ready', `ready · ${time(at)}`)
  const notices = [
    ...status.reasons.map((text) => notice(text, 'problem')),
    ...status.warnings.map((text) => notice(text, 'warning'))
  ]
  byId('notices').replaceChildren(...notices)
  byId('notices').hidden = notices.length === 0
  views.show(status, samples)
  plots ??= createPlots(byId('plots'))
  plots(samples, { hasKafka: status.partitions.length > 0 })
  document.body.dataset.ready = ''
}

/** @param {string} text @param {string} kind */
const notice = (text, kind) =>
  element('li', { class: kind }, `${text} `, element('a', { href: '/docs/status.md#not-ready' }, 'What to do'))

/** @param {unknown} error */
function fail (error) {
  if (error instanceof Unauthorized) {
    byId('login-reason').textContent = error.message
    byId('login').hidden = false
    showSection()
    showState('loading', 'needs a token')
    return
  }
  showState('unreachable', `no answer since ${time(samples.at(-1)?.at ?? Date.now())}: ${error instanceof Error ? error.message : error}`)
}

async function poll () {
  if (running) return
  running = true
  clearTimeout(timer)
  try {
    show(await readStatus(samples.at(-1)?.at ?? 0))
  } catch (error) {
    fail(error)
  }
  running = false
  if (!document.hidden && byId('login').hidden) timer = setTimeout(poll, EVERY)
}

createInspector(fail)
addEventListener('hashchange', showSection)
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer)
  if (!document.hidden) poll()
})
byId('login').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault()
  keepToken(byId('token').value.trim())
  byId('token').value = ''
  poll()
})
poll()
