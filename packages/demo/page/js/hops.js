import { arrange, byId, h } from './dom.js'
import { partsOf } from './hop-parts.js'

/**
 * @typedef {import('./hop-parts.js').Hop} Hop
 * @typedef {import('./hop-parts.js').Part} Part
 */

/** Event of the numbered records, which have the time of their publisher. */
const PULSE = 'demo:pulse'
/** Records that are listed. */
const ROWS = 6
/** Interval of records that are listed, ms: a person cannot read more. */
const EVERY = 400
/** Hops are reported in batches; a record is drawn after this time, ms. */
const WAIT = 700
/** Records whose hops are kept until the record itself is drawn. */
const MAX_KEPT = 1000
/** Pause before the hops are requested again, ms. */
const RETRY = 1000

/**
 * The way of a record: its hops from the publisher to this page, with their times. While it is shown, the processes
 * report the records of this document (the inspector, docs/status.md); otherwise nothing is requested.
 */
export class Hops {
  /** By trace id. @type {Map<string, Hop[]>} */
  #hops = new Map()
  /** It is shown while there is one. @type {AbortController | null} */
  #open = null
  /** The gateway worker of this page, as far as it is known. */
  #own = ''
  #last = -Infinity
  #client
  #guid
  #button = h('button', {
    type: 'button', id: 'hops-show', 'aria-expanded': 'false',
    onclick: () => this.#open === null ? this.#start() : this.#stop()
  }, 'Show the hops')

  #list = h('ol', { id: 'hops-list', class: 'hop-list' })
  #note = h(
    'p', { id: 'hops-note', class: 'hint', hidden: true },
    'Records appear here when a person types, or while something is broken above.'
  )

  #problem = h('p', { class: 'problem', role: 'alert' })

  /** @param {any} client @param {string} guid */
  constructor (client, guid) {
    this.#client = client
    this.#guid = guid
  }

  mount () {
    const section = byId('hops')
    section.setAttribute('aria-labelledby', 'hops-title')
    section.append(
      h('h2', { id: 'hops-title' }, 'Path of a record'),
      h('p', { class: 'hint' }, 'From the publisher to this page, hop by hop.'),
      h('div', { class: 'buttons' }, this.#button),
      this.#note, this.#list, this.#problem,
      h(
        'details', { class: 'how' },
        h('summary', {}, 'How this is done'),
        h(
          'p', {},
          'Each process reports the records of this document while the strip is open (the inspector of the status ',
          'page), found by their trace id. The last hop ends when this page has the record. Values of records are not ',
          'reported, and without a watcher nothing is.'
        ),
        h(
          'p', { class: 'links' },
          h('a', { href: '/docs/status.html#inspector' }, 'Inspector'), ' ', h('a', { href: '/docs/tracing.html' }, 'Traces')
        )
      )
    )
    section.hidden = false
  }

  #start () {
    const { signal } = this.#open = new AbortController()
    this.#show()
    for (const work of [this.#follow(signal), this.#records(signal)])
      work.catch((error) => { if (!signal.aborted) this.#problem.textContent = error.message })
  }

  #stop () {
    this.#open?.abort()
    this.#open = null
    this.#hops.clear()
    this.#list.replaceChildren()
    this.#show()
  }

  #show () {
    const open = this.#open !== null
    this.#button.textContent = open ? 'Hide the hops' : 'Show the hops'
    this.#button.setAttribute('aria-expanded', String(open))
    this.#note.hidden = !open || this.#list.children.length > 0
    this.#problem.textContent = ''
  }

  /** Reads what the processes report, for as long as it is shown. @param {AbortSignal} signal */
  async #follow (signal) {
    while (!signal.aborted) {
      // the worker that answers may be killed: another one answers the next request
      await this.#read(signal).catch(() => {})
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY))
    }
  }

  /** @param {AbortSignal} signal */
  async #read (signal) {
    const answer = await fetch(`/control/hops?document=${encodeURIComponent(this.#guid)}`, { signal })
    if (!answer.ok || answer.body === null) {
      this.#problem.textContent = (await answer.json()).error?.message ?? ''
      return
    }
    this.#problem.textContent = ''
    const reader = answer.body.getReader()
    const decoder = new TextDecoder()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#keep(JSON.parse(line))
    }
  }

  /** @param {Hop} hop */
  #keep (hop) {
    const hops = this.#hops
    if (hop.traceId === undefined) return
    if (hop.clients?.some(({ sid }) => sid === this.#client.connectionId)) this.#own = hop.process
    const known = hops.get(hop.traceId)
    if (known !== undefined) return void known.push(hop)
    hops.set(hop.traceId, [hop])
    if (hops.size > MAX_KEPT) hops.delete(hops.keys().next().value ?? '')
  }

  /** @param {AbortSignal} signal */
  async #records (signal) {
    const doc = await this.#client.open(this.#guid, { echo: true, signal })
    signal.addEventListener('abort', () => doc.close())
    if (signal.aborted) return void doc.close()
    for await (const { event, payload, meta } of doc) {
      const now = performance.now()
      if (meta?.offset === undefined || now - this.#last < EVERY) continue
      this.#last = now
      const at = performance.timeOrigin + now
      setTimeout(() => { if (!signal.aborted) this.#add(event, meta, at, payload?.at) }, WAIT)
    }
  }

  /**
   * @param {string} event
   * @param {{ traceId: string, offset: number }} meta
   * @param {number} at when it arrived
   * @param {unknown} sentAt by a numbered record's publisher
   */
  #add (event, { traceId, offset }, at, sentAt) {
    const parts = partsOf(this.#hops.get(traceId) ?? [], this.#own, at, event === PULSE ? Number(sentAt) : undefined)
    this.#hops.delete(traceId)
    // the processes had not learned of this page yet, or the record came from the log after a reconnect
    if (parts === null) return
    arrange(this.#list, [row(event, offset, parts), ...this.#list.children].slice(0, ROWS))
    this.#show()
  }
}

/** @param {number} value */
const ms = (value) => value < 10 && !Number.isInteger(value) ? value.toFixed(1) : String(Math.round(value))

/** @param {string} event @param {number} offset @param {Part[]} parts */
function row (event, offset, parts) {
  const total = parts.reduce((sum, part) => sum + part.ms, 0)
  return h(
    'li', { class: 'hop-row' },
    h('p', { class: 'hop-head' }, h('strong', {}, `#${offset}`), ` ${event} `, h('span', { class: 'hop-total' }, `${ms(total)} ms`)),
    h('div', { class: 'hop-bar', 'aria-hidden': 'true' }, ...parts.map(({ kind, ms: own }) => {
      const bar = h('span', { class: `hop-${kind}` })
      // thin ones stay visible
      bar.style.flexGrow = String(own + total / 50 + 0.01)
      return bar
    })),
    h('ul', { class: 'hop-parts' }, ...parts.map(({ name, kind, ms: own }) =>
      h('li', {}, h('span', { class: `hop-dot hop-${kind}`, 'aria-hidden': 'true' }), `${name} ${ms(own)} ms`)))
  )
}
