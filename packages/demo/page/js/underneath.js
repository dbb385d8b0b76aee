import { byId, oncePerFrame, svg } from './dom.js'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Number of latencies kept for the curve and the median. */
const KEPT = 60
/** Longer latencies belong to missed records, which come from the log, ms. */
const TOO_LONG = 2000
/** Maximum own changes whose echo has not arrived. */
const MAX_WAITING = 200

/** @type {Record<string, string>} */
const SENTENCES = {
  connecting: 'connecting',
  connected: 'connected',
  reconnecting: 'reconnecting',
  draining: 'moving to another worker',
  refused: 'refused',
  closed: 'closed'
}

/** The diagnostics panel. */
export function createUnderneath () {
  /** @type {{ client: any, doc: any } | null} */
  let link = null
  /**
   * @type {number[]} ms from keystroke to screen: for own changes until their echo, for those of others by the clocks
   *   of both machines
   */
  const latencies = []
  /** When the page was connected for the last time, by its own clocks. */
  let since = { at: -Infinity, ts: -Infinity }
  /** @type {Map<string, number>} send times of own changes, by id */
  const waiting = new Map()
  const counts = { records: 0, signals: 0 }
  let signalsBefore = 0
  let perSecond = 0
  let joined = '–'
  let version = 0

  const draw = oncePerFrame(() => {
    const { client, doc } = link ?? {}
    const id = client?.connectionId
    show('worker', id ? String(DIGITS.indexOf(id[0]) * 64 + DIGITS.indexOf(id[1])) : '–')
    show('transport', client?.transport ?? '–')
    show('epoch', doc?.position?.epoch || '–')
    show('offset', doc?.position ? String(doc.position.offset) : '–')
    show('version', String(version))
    show('records', String(counts.records))
    show('signals', `${perSecond} / s`)
    show('joined', joined)
    const median = [...latencies].sort((a, b) => a - b)[latencies.length >> 1]
    show('latency', median === undefined ? '–' : `${median < 10 ? median.toFixed(1) : Math.round(median)} ms`)
    byId('curve', SVGElement).replaceChildren(
      ...(latencies.length < 2 ? [] : [svg('polyline', { points: curve(latencies) })])
    )
  })

  /** @param {string} id @param {string} text */
  function show (id, text) {
    const element = byId(id)
    if (element.textContent !== text) element.textContent = text
  }

  setInterval(() => {
    if (document.hidden || perSecond === counts.signals - signalsBefore) return void (signalsBefore = counts.signals)
    perSecond = counts.signals - signalsBefore
    signalsBefore = counts.signals
    draw()
  }, 1000)

  return {
    /** @param {any} state @param {{ message: string } | null} reason */
    state (state, reason) {
      byId('state').dataset.state = state
      show('state-text', SENTENCES[state] ?? state)
      byId('state').title = reason?.message ?? ''
      if (state === 'connected') since = { at: performance.now(), ts: Date.now() }
      draw()
    },
    /** @param {{ client: any, doc: any }} opened @param {number} loaded version of the document */
    opened (opened, loaded) {
      link = opened
      version = loaded
      draw()
    },
    /** @param {string} how result of the last join */
    joined (how) {
      joined = how
      draw()
    },
    /** @param {number} at performance.now() @param {string} id */
    sent (at, id) {
      if (waiting.size >= MAX_WAITING) waiting.delete(waiting.keys().next().value ?? '')
      waiting.set(id, at)
    },
    /** @param {string} id of a received change @param {number} ts send time by the gateway's clock */
    came (id, ts) {
      const at = waiting.get(id)
      waiting.delete(id)
      const latency = at === undefined ? Date.now() - ts : performance.now() - at
      // records from before the connection was back were missed, and clocks differ: neither is a latency
      if (at === undefined ? ts < since.ts : at < since.at) return
      if (latency < 0 || latency > TOO_LONG) return
      latencies.push(latency)
      if (latencies.length > KEPT) latencies.shift()
    },
    /** @param {number} current version of the document */
    record (current) {
      counts.records++
      version = current
      draw()
    },
    signal () { counts.signals++ }
  }
}

/** @param {number[]} values @returns {string} points in a box of 100 by 24 */
function curve (values) {
  const top = Math.max(20, ...values)
  return values
    .map((value, i) => `${((100 * i) / (KEPT - 1)).toFixed(1)},${(23 - (21 * value) / top).toFixed(1)}`)
    .join(' ')
}
