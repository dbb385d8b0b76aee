import { createCrowd } from './crowd.js'
import { byId, h, oncePerFrame } from './dom.js'
import { createControl } from './faults-control.js'
import { SETTLE, Tally } from './faults-tally.js'
import { howFaults, WHY_NOT } from './faults-how.js'
import { faultWords, many, number } from './faults-words.js'
import { Hops } from './hops.js'

/** Event of the numbered records (packages/demo/control/pulse.js). */
const PULSE = 'demo:pulse'
/** The control refuses a fault right after another one, ms. */
const PAUSE = 1200
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const PRESS = 'Press a button at the top and watch the count: meanwhile records are published, each with a number, and ' +
  'this page counts those that arrive.'

/**
 * @param {object} page
 * @param {any} page.client
 * @param {any} page.doc
 * @param {string} page.guid
 * @param {(meta: { offset?: number }) => void} page.onPulse a numbered record has arrived
 */
export async function mountFaults ({ client, doc, guid, onPulse }) {
  doc.on(PULSE, (/** @type {unknown} */ _, /** @type {{ offset?: number }} */ meta) => onPulse(meta))
  await new FaultsSection(client, guid).mount()
}

/**
 * The section with the faults: buttons that break a part of the cluster, and the count of the records that arrive
 * meanwhile. Records are published by the launcher through the api; this page compares the numbers it received with
 * those that were acknowledged.
 */
class FaultsSection {
  #tally = new Tally()
  /** @type {import('./faults-control.js').ControlState | null} */
  #state = null
  /** The document with its own listeners, while records are counted. @type {Promise<any> | null} */
  #counted = null
  /** When the last fault has ended, and its records were not complete yet. @type {number | null} */
  #endedAt = null
  /** The last fault that this page has followed to its end. */
  #told = 0
  #pressing = false
  #client
  #guid
  #control
  #crowd
  #words = faultWords('Redis')
  /** @type {HTMLButtonElement[]} */
  #buttons = []
  #section = byId('faults')
  #count = h('p', { id: 'faults-count', class: 'tally' })
  #more = h('p', { id: 'faults-more', class: 'hint' })
  #story = h('p', { id: 'faults-story', class: 'story', role: 'status', 'data-result': '' })
  #problem = h('p', { id: 'faults-problem', class: 'problem', role: 'alert' })

  /** @param {any} client @param {string} guid */
  constructor (client, guid) {
    this.#client = client
    this.#guid = guid
    this.#control = createControl({ onState: (state) => this.#onState(state), isBusy: () => this.#busy })
    this.#crowd = createCrowd({ guid, tell: (method, path, body) => this.#press(method, path, body) })
  }

  async mount () {
    const state = this.#state = await this.#control.look()
    this.#words = faultWords(state.store ?? 'Redis')
    this.#buttons = Object.entries(this.#words).map(([kind, { name }]) => h('button', {
      type: 'button',
      id: `fault-${kind}`,
      onclick: () => this.#press('POST', '/fault', { kind, document: this.#guid, worker: workerOf(this.#client) })
    }, name))
    await style()
    this.#told = state.fault?.number ?? 0
    this.#build(state)
    if (state.reason !== 'elsewhere') new Hops(this.#client, this.#guid).mount()
    this.#draw()
    // a fault or a crowd of another page, or of before a reload of this one
    if (!this.#busy) return
    if (state.pulse?.document === this.#guid) await this.#listen()
    this.#control.watch()
  }

  /** @param {import('./faults-control.js').ControlState} state */
  #build ({ kinds, reason }) {
    const can = kinds.length > 0
    const why = h('p', { id: 'faults-why', class: 'hint' }, can ? PRESS : WHY_NOT[reason ?? ''] ?? '')
    this.#section.setAttribute('aria-labelledby', 'faults-title')
    this.#section.append(
      h('h2', { id: 'faults-title' }, 'Break it'),
      why,
      can ? howFaults() : this.#count,
      this.#more,
      ...(can || reason === 'embedded' ? [this.#crowd.element] : []),
      ...(can ? [] : [this.#problem])
    )
    if (can) {
      // in the first view: nothing shows better what inkcast is for
      const first = byId('break')
      first.append(
        h('p', {}, 'Then break it:'), h('div', { class: 'buttons' }, ...this.#buttons), this.#count, this.#story,
        this.#problem
      )
      first.hidden = false
    }
    this.#section.hidden = false
  }

  get #running () { return this.#state?.fault != null && this.#state.fault.phase !== 'ended' }

  get #busy () {
    const { crowd, pulse } = this.#state ?? {}
    return this.#running || this.#endedAt !== null || crowd?.running === true || pulse?.running === true
  }

  /**
   * Listens to every record of the document, and only then looks at what was published: earlier records are not
   * expected.
   */
  #listen () {
    this.#counted ??= (async () => {
      const own = await this.#client.open(this.#guid, { echo: true })
      this.#follow(own).catch((error) => console.warn('records are not counted', error))
      const { pulse } = await this.#control.look()
      if (pulse !== null) this.#tally.begin(pulse)
      return own
    })()
    this.#counted.catch(() => { this.#counted = null })
    return this.#counted
  }

  /** @param {any} own */
  async #follow (own) {
    for await (const { event, payload, meta } of own) {
      if (event === 'resync') this.#tally.resync(payload.position?.offset ?? 0)
      else if (meta?.offset !== undefined) {
        this.#tally.record(meta.offset)
        if (event === PULSE) this.#tally.numbered(payload.run, payload.number, performance.now())
      }
      this.#draw()
    }
  }

  /** @param {string} method @param {string} path @param {object} [body] */
  async #press (method, path, body) {
    this.#problem.textContent = ''
    this.#pressing = true
    this.#show()
    try {
      if (method === 'POST') await this.#listen()
      await this.#control.tell(method, path, body)
    } catch (error) {
      this.#problem.textContent = /** @type {Error} */ (error).message
      // another page may have been first: follow what it does
      this.#control.watch()
    }
    this.#pressing = false
    this.#draw()
  }

  /** @param {import('./faults-control.js').ControlState} next */
  #onState (next) {
    const now = performance.now()
    this.#state = next
    const { fault, pulse } = next
    // records of another document are not expected here
    const isMine = pulse !== null && pulse.document === this.#guid
    if (isMine && this.#counted !== null) this.#tally.update(pulse, now)
    if (fault?.phase === 'ended' && fault.number > this.#told) {
      const endedAt = this.#endedAt ??= now
      const settled = !isMine || (pulse.open.length === 0 && this.#tally.onTheWay === 0)
      if ((settled && now - endedAt > PAUSE) || now - endedAt > 2 * SETTLE) {
        this.#told = fault.number
        this.#endedAt = null
      }
    }
    if (!this.#pressing && (!this.#busy || !isMine)) this.#stopListening()
    this.#draw()
  }

  /** Nothing is paid while nothing is counted. */
  #stopListening () {
    this.#counted?.then((own) => own.close(), () => {})
    this.#counted = null
  }

  #draw = oncePerFrame(() => this.#show())

  #show () {
    if (this.#state === null) return
    const { fault, pulse, crowd } = this.#state
    const breaking = this.#pressing || this.#running
    const busy = breaking || this.#endedAt !== null
    this.#section.dataset.state = breaking ? 'running' : busy ? 'settling' : 'idle'
    for (const button of this.#buttons) button.disabled = busy
    this.#crowd.show(crowd?.running || crowd?.document === this.#guid ? crowd : null)
    this.#showTally()
    const problem = this.#problem
    if (pulse?.problem && problem.textContent === '' && pulse.refused.length > 0)
      write(problem, `Records could not be published: ${pulse.problem}.`)
    this.#tell(fault, this.#running || this.#endedAt !== null)
  }

  #showTally () {
    const { published, received, lost, onTheWay, longestPause, gaps, duplicates, outOfOrder, resyncs } = this.#tally
    this.#count.hidden = this.#more.hidden = published === 0
    this.#count.dataset.lost = String(lost)
    write(this.#count, `published ${number(published)} · received ${number(received)} · lost ${number(lost)}`)
    write(this.#more, [
      onTheWay > 0 ? `${number(onTheWay)} on their way` : '',
      `longest pause ${number(Math.round(longestPause))} ms`,
      many(gaps, 'gap'),
      many(duplicates, 'duplicate'),
      `${number(outOfOrder)} out of order`,
      resyncs > 0 ? many(resyncs, 'resync') : ''
    ].filter((part) => part !== '').join(' · '))
  }

  /** @param {import('./faults-control.js').Fault | null} fault @param {boolean} busy */
  #tell (fault, busy) {
    // faults of before this page was opened
    if (fault === null || (!busy && this.#told !== fault.number)) return
    const { doing, done } = this.#words[fault.kind]
    const { lost } = this.#tally
    if (busy) {
      this.#story.dataset.result = 'away'
      write(this.#story, fault.phase === 'before'
        ? 'Records are published…'
        : fault.phase === 'ended' ? `${done(fault)} Counting…` : doing(fault))
    } else {
      this.#story.dataset.result = fault.problem !== null || lost > 0 ? 'missed' : 'whole'
      write(this.#story, `${fault.problem === null ? done(fault) : `${fault.problem}.`} ${many(lost, 'record')} lost.`)
    }
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
