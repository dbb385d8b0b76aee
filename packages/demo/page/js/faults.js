import { createCrowd } from './crowd.js'
import { byId, h, oncePerFrame } from './dom.js'
import { createControl } from './faults-control.js'
import { SETTLE, Tally } from './faults-tally.js'
import { howFaults, WHY_NOT } from './faults-how.js'
import { faultWords, many, number } from './faults-words.js'
import { createHops } from './hops.js'

/**
 * The section with the faults: buttons that break a part of the cluster, and the count of the records that arrive
 * meanwhile. Records are published by the launcher through the api; this page compares the numbers it received with
 * those that were acknowledged.
 */

/** Event of the numbered records (packages/demo/control/pulse.js). */
const PULSE = 'demo:pulse'
/** The control refuses a fault right after another one, ms. */
const PAUSE = 1200
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * @param {object} dependencies
 * @param {any} dependencies.client
 * @param {any} dependencies.doc
 * @param {string} dependencies.guid
 * @param {(meta: { offset?: number }) => void} dependencies.onPulse a numbered record has arrived
 */
export async function mountFaults ({ client, doc, guid, onPulse }) {
  doc.on(PULSE, (/** @type {unknown} */ _, /** @type {{ offset?: number }} */ meta) => onPulse(meta))
  const section = byId('faults')
  const tally = new Tally()
  /** @type {import('./faults-control.js').ControlState | null} */
  let state = null
  /** The document with its own listeners, while records are counted. @type {Promise<any> | null} */
  let counted = null
  /** When the last fault has ended, and its records were not complete yet. @type {number | null} */
  let endedAt = null
  /** The last fault that this page has followed to its end. */
  let told = 0
  let pressing = false

  const isRunning = () => state?.fault != null && state.fault.phase !== 'ended'
  const isBusy = () =>
    isRunning() || endedAt !== null || state?.crowd?.running === true || state?.pulse?.running === true
  const control = createControl({ onState, isBusy })
  const crowd = createCrowd({ guid, tell: (method, path, body) => press(method, path, body) })
  const hops = createHops({ client, guid })

  state = await control.look()
  const words = faultWords(state.store ?? 'Redis')
  const buttons = new Map(Object.entries(words).map(([kind, { name }]) => [
    kind,
    h(
      'button',
      { type: 'button', id: `fault-${kind}`, onclick: () => press('POST', '/fault', { kind, document: guid, worker: workerOf(client) }) },
      name
    )
  ]))
  const count = h('p', { id: 'faults-count', class: 'tally' })
  const more = h('p', { id: 'faults-more', class: 'hint' })
  const story = h('p', { id: 'faults-story', class: 'story', role: 'status', 'data-result': '' })
  const why = h('p', { id: 'faults-why', class: 'hint' })
  const problem = h('p', { id: 'faults-problem', class: 'problem', role: 'alert' })

  /**
   * Listens to every record of the document, and only then looks at what was published: earlier records are not
   * expected.
   */
  function listen () {
    counted ??= (async () => {
      const own = await client.open(guid, { echo: true })
      follow(own).catch((error) => console.warn('records are not counted', error))
      const { pulse } = await control.look()
      if (pulse !== null) tally.begin(pulse)
      return own
    })()
    counted.catch(() => { counted = null })
    return counted
  }

  /** @param {any} own */
  async function follow (own) {
    for await (const { event, payload, meta } of own) {
      if (event === 'resync') tally.resync(payload.position?.offset ?? 0)
      else if (meta?.offset !== undefined) {
        tally.record(meta.offset)
        if (event === PULSE) tally.numbered(payload.run, payload.number, performance.now())
      }
      draw()
    }
  }

  /** @param {string} method @param {string} path @param {object} [body] */
  async function press (method, path, body) {
    problem.textContent = ''
    pressing = true
    show()
    try {
      if (method === 'POST') await listen()
      await control.tell(method, path, body)
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message
      // another page may have been first: follow what it does
      control.watch()
    }
    pressing = false
    draw()
  }

  /** @param {import('./faults-control.js').ControlState} next */
  function onState (next) {
    const now = performance.now()
    state = next
    const { fault, pulse } = next
    // records of another document are not expected here
    const isMine = pulse !== null && pulse.document === guid
    if (isMine && counted !== null) tally.update(pulse, now)
    if (fault?.phase === 'ended' && fault.number > told) {
      endedAt ??= now
      const settled = !isMine || (pulse.open.length === 0 && tally.onTheWay === 0)
      if ((settled && now - endedAt > PAUSE) || now - endedAt > 2 * SETTLE) {
        told = fault.number
        endedAt = null
      }
    }
    if (!pressing && (!isBusy() || !isMine)) stopListening()
    draw()
  }

  /** Nothing is paid while nothing is counted. */
  function stopListening () {
    counted?.then((own) => own.close(), () => {})
    counted = null
  }

  const draw = oncePerFrame(() => show())

  function show () {
    if (state === null) return
    const { fault, pulse, crowd: guests } = state
    const busy = pressing || isRunning() || endedAt !== null
    section.dataset.state = pressing || isRunning() ? 'running' : busy ? 'settling' : 'idle'
    for (const button of buttons.values()) button.disabled = busy
    crowd.show(guests?.running || guests?.document === guid ? guests : null)
    const { published, received, lost, onTheWay } = tally
    count.hidden = more.hidden = published === 0
    count.dataset.lost = String(lost)
    write(count, `published ${number(published)} · received ${number(received)} · lost ${number(lost)}`)
    write(more, [
      onTheWay > 0 ? `${number(onTheWay)} on their way` : '',
      `longest pause ${number(Math.round(tally.longestPause))} ms`,
      many(tally.gaps, 'gap'),
      many(tally.duplicates, 'duplicate'),
      `${number(tally.outOfOrder)} out of order`,
      tally.resyncs > 0 ? many(tally.resyncs, 'resync') : ''
    ].filter((part) => part !== '').join(' · '))
    if (pulse?.problem && problem.textContent === '' && pulse.refused.length > 0)
      write(problem, `Records could not be published: ${pulse.problem}.`)
    tell(fault, isRunning() || endedAt !== null)
  }

  /** @param {import('./faults-control.js').Fault | null} fault @param {boolean} busy */
  function tell (fault, busy) {
    // faults of before this page was opened
    if (fault === null || (!busy && told !== fault.number)) return
    const { doing, done } = words[fault.kind]
    const lost = tally.lost
    if (busy) {
      story.dataset.result = 'away'
      write(
        story, fault.phase === 'before' ? 'Records are published…' : fault.phase === 'ended' ? `${done(fault)} Counting…` : doing(fault)
      )
    } else {
      story.dataset.result = fault.problem !== null || lost > 0 ? 'missed' : 'whole'
      write(story, fault.problem !== null
        ? `${fault.problem}. ${many(lost, 'record')} lost.`
        : `${done(fault)} ${many(lost, 'record')} lost.`)
    }
  }

  await style()
  told = state.fault?.number ?? 0
  const can = state.kinds.length > 0
  why.textContent = can
    ? 'Press a button at the top and watch the count: meanwhile records are published, each with a number, and this page counts those ' +
    'that arrive.'
    : WHY_NOT[state.reason ?? ''] ?? ''
  section.setAttribute('aria-labelledby', 'faults-title')
  section.append(
    h('h2', { id: 'faults-title' }, 'Break it'),
    why,
    ...(can ? [howFaults()] : [count]),
    more,
    ...(can || state.reason === 'embedded' ? [crowd.element] : []),
    ...(can ? [] : [problem])
  )
  if (can) {
    // in the first view: nothing shows better what inkcast is for
    const first = byId('break')
    first.append(
      h('p', {}, 'Then break it:'), h('div', { class: 'buttons' }, ...buttons.values()), count, story, problem
    )
    first.hidden = false
  }
  section.hidden = false
  if (state.reason !== 'elsewhere') hops.mount()
  draw()
  // a fault or a crowd of another page, or of before a reload of this one
  if (isBusy()) {
    if (state.pulse?.document === guid) await listen()
    control.watch()
  }
}

/** @param {HTMLElement} element @param {string} text */
function write (element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** @param {any} client @returns {number | undefined} number of the worker that this page is connected to */
function workerOf ({ connectionId: id }) {
  return id ? DIGITS.indexOf(id[0]) * 64 + DIGITS.indexOf(id[1]) : undefined
}

/** The stylesheet is not part of the first view. @returns {Promise<unknown>} */
function style () {
  const link = h('link', { rel: 'stylesheet', href: '/css/faults.css' })
  const loaded = new Promise((resolve) => {
    link.addEventListener('load', resolve)
    link.addEventListener('error', resolve)
  })
  document.head.append(link)
  return loaded
}
