import { Unauthorized } from './api.js'
import { byId, element } from './dom.js'
import { follow } from './feed.js'
import { short, time } from './format.js'
import { createRecords, inOrder } from './records.js'
import { createTable } from './table.js'

/**
 * The inspector: a document, a user or a trace, watched while this page is open.
 *
 * @typedef {import('./feed.js').InspectEvent} InspectEvent
 * @typedef {import('./records.js').RecordRow} RecordRow
 */

/** Time between two drawings, and before another try after the server has ended a watch, ms. */
const DRAW_EVERY = 250
const RETRY_AFTER = 2000

/** @param {number | null} value */
const milliseconds = (value) => value === null ? '–' : short(value)
/** @param {number} at */
const precise = (at) => `${time(at)}.${String(at % 1000).padStart(3, '0')}`

/** @param {(error: Unauthorized) => void} onUnauthorized */
export function createInspector (onUnauthorized) {
  const records = createRecords()
  /** @type {AbortController | undefined} */
  let watching
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let drawing
  /** @type {string | undefined} */
  let selected

  const showRecords = createTable(byId('records'), recordColumns(select), { by: 0, descending: true, caption: 'Records' })
  const showHappenings = createTable(
    byId('happenings'), happeningColumns(), { by: 0, descending: true, caption: 'Connections, gaps and drops' }
  )

  /** @param {string} traceId */
  function select (traceId) {
    selected = traceId
    draw()
    byId('record-card').scrollIntoView({ block: 'nearest' })
  }

  function draw () {
    drawing = undefined
    showRecords(records.rows())
    showHappenings(records.happenings())
    const record = selected === undefined ? undefined : records.record(selected)
    byId('record-card').hidden = record === undefined
    if (record !== undefined) {
      byId('record-title').textContent = `Record ${record.title} · ${record.traceId}`
      byId('hops').replaceChildren(...inOrder(record.hops).map(hopItem))
    }
    if (watching !== undefined) byId('watch-state').textContent = describe()
  }

  function describe () {
    const { processes, left } = records
    const out = [
      left.out > 0 && `${short(left.out)} events left out by processes`,
      left.shown > 0 && `${short(left.shown)} older ones no longer shown`
    ].filter(Boolean)
    return [
      `Watching. ${processes.size} process${processes.size === 1 ? '' : 'es'}: ${[...processes].sort().join(', ')}`, ...out
    ].join(' · ')
  }

  const drawSoon = () => { drawing ??= setTimeout(draw, DRAW_EVERY) }

  /** @param {string} kind @param {string} id */
  async function start (kind, id) {
    stop()
    const mine = watching = new AbortController()
    byId('watch-start').hidden = true
    byId('watch-stop').hidden = false
    while (!mine.signal.aborted) {
      try {
        byId('watch-state').textContent = 'Connecting …'
        await follow(kind, id, mine.signal, (events) => {
          records.add(events)
          drawSoon()
        }, drawSoon)
        byId('watch-state').textContent = 'The server ended the watch; trying again.'
      } catch (error) {
        if (mine.signal.aborted) return
        if (error instanceof Unauthorized) {
          stop()
          return onUnauthorized(error)
        }
        byId('watch-state').textContent = `${error instanceof Error ? error.message : error}; trying again.`
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER))
    }
  }

  function stop () {
    watching?.abort()
    watching = undefined
    byId('watch-start').hidden = false
    byId('watch-stop').hidden = true
    byId('watch-state').textContent = 'Not watching.'
  }

  byId('watch-form').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    start(byId('watch-kind').value, byId('watch-id').value.trim())
  })
  byId('watch-stop').addEventListener('click', stop)
  byId('watch-clear').addEventListener('click', () => {
    records.clear()
    selected = undefined
    draw()
  })
  draw()
}

/** @param {InspectEvent} event */
function hopItem (event) {
  const { at, hop, ms, age, process, host, reason, count, clients, offset, epoch, uid, sid, source, details } = event
  const facts = [
    ms !== undefined && `+${short(ms)} ms`,
    age !== undefined && `${short(age)} ms after the producer`,
    reason,
    offset !== undefined && `offset ${offset}${epoch === undefined ? '' : ` of ${epoch}`}`,
    source !== undefined && `by ${source}`,
    uid !== undefined && hop === 'acknowledged' && `${uid} (${sid})`,
    count !== undefined && `${short(count)} client${count === 1 ? '' : 's'}`,
    ...Object.entries(details ?? {}).map(([name, value]) => `${name} ${value}`)
  ].filter(Boolean)
  const item = element('li', {},
    element('strong', {}, hop), ` ${facts.join(' · ')} `,
    element('span', { class: 'hint' }, `${precise(at)} ${host} ${process}`))
  if (clients !== undefined && clients.length > 0) item.append(clientList(clients, count ?? 0))
  return item
}

/** @param {import('./feed.js').Receiver[]} clients @param {number} count */
function clientList (clients, count) {
  const list = element('ul', {}, ...clients.map(({ uid, sid, client, ms }) =>
    element('li', {}, `${uid} · ${sid}${client === undefined ? '' : ` · ${client}`} · ${short(ms)} ms`)))
  if (count > clients.length) list.append(element('li', {}, `and ${short(count - clients.length)} more`))
  return element('details', {}, element('summary', {}, 'clients'), list)
}

/** @param {(traceId: string) => void} select @returns {import('./table.js').Column<RecordRow>[]} */
function recordColumns (select) {
  return [
    {
      title: 'Produced',
      value: ({ at }) => at,
      show ({ at, traceId }) {
        const button = element('button', { type: 'button', class: 'link' }, precise(at))
        button.addEventListener('click', () => select(traceId))
        return button
      }
    },
    { title: 'Event', value: ({ title }) => title },
    { title: 'Offset', value: ({ offset }) => offset, number: true },
    { title: 'Ingest, ms', value: ({ ingested }) => ingested, show: ({ ingested }) => milliseconds(ingested), number: true },
    { title: 'Log, ms', value: ({ logged }) => logged, show: ({ logged }) => milliseconds(logged), number: true },
    { title: 'Worker, ms', value: ({ received }) => received, show: ({ received }) => milliseconds(received), number: true },
    { title: 'Written, ms', value: ({ written }) => written, show: ({ written }) => milliseconds(written), number: true },
    { title: 'Clients', value: ({ clients }) => clients, show: ({ clients }) => short(clients), number: true },
    { title: 'Acknowledged', value: ({ acknowledged }) => acknowledged, show: ({ acknowledged }) => short(acknowledged), number: true },
    { title: 'Notes', value: ({ end }) => end, isBad: ({ end }) => end !== '' },
    { title: 'Trace id', value: ({ traceId }) => traceId }
  ]
}

/** @returns {import('./table.js').Column<InspectEvent>[]} */
function happeningColumns () {
  const bad = new Set(['gap', 'resync', 'refused', 'closing', 'dropped', 'behind'])
  return [
    { title: 'Time', value: ({ at }) => at, show: ({ at }) => precise(at) },
    { title: 'What', value: ({ hop }) => hop, isBad: ({ hop }) => bad.has(hop) },
    { title: 'Event', value: ({ event }) => event ?? null, show: ({ event }) => event ?? '' },
    { title: 'Reason', value: ({ reason }) => reason ?? null, show: ({ reason }) => reason ?? '' },
    { title: 'User', value: ({ uid }) => uid ?? null, show: ({ uid }) => uid ?? '' },
    { title: 'Connection', value: ({ sid }) => sid ?? null, show: ({ sid, client }) => [sid, client].filter(Boolean).join(' · ') },
    { title: 'Document', value: ({ guid }) => guid ?? null, show: ({ guid }) => guid ?? '' },
    {
      title: 'Offset', value: ({ offset }) => offset ?? null, show: ({ offset }) => offset === undefined ? '' : String(offset),
      number: true
    },
    { title: 'Details', value: ({ count }) => count ?? null, show: detailsOf },
    { title: 'Process', value: ({ process }) => process, show: ({ host, process }) => `${host} ${process}` }
  ]
}

/** @param {InspectEvent} event */
const detailsOf = ({ count, details }) => [
  count !== undefined && `${count} records`,
  ...Object.entries(details ?? {}).map(([name, value]) => `${name} ${value}`)
].filter(Boolean).join(', ')
