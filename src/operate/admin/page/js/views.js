import { byId, element } from './dom.js'
import { highest, total } from './figures.js'
import { bytes, short, since } from './format.js'
import { createTable } from './table.js'

/**
 * The tiles and tables of the page.
 *
 * @typedef {import('./api.js').Status} Status
 * @typedef {import('./api.js').Sample} Sample
 */

const RECENT = 300_000
const HELP = '/docs/status.md'

/**
 * @typedef {object} Tile
 * @property {string} title
 * @property {string} value
 * @property {string} [note]
 * @property {string} [help] anchor of what to do; the tile is then marked
 */

/** @param {Status} status @param {Sample[]} samples @returns {Tile[]} */
function tilesOf ({ processes, partitions, listeners }, samples) {
  const last = samples.at(-1)
  if (last === undefined) return []
  const { values, seconds, stages } = last
  const perSecond = (/** @type {number} */ count) => seconds === 0 ? '–' : short(count / seconds)
  const workers = processes.filter(({ name }) => /^(gateway|embedded)-/.test(name))
  const ready = workers.filter(({ notReady }) => notReady.length === 0).length
  const refused = total(samples, ['refused'], RECENT)
  const p99 = stages.produced_written?.p99 ?? null
  const slow = total(samples, ['slow'], RECENT)
  const letters = total(samples, ['deadLetters'])
  return [
    { title: 'Workers ready', value: `${ready} of ${workers.length}`, help: ready < workers.length ? 'not-ready' : undefined },
    { title: 'Connections', value: short(values.connections), note: `${short(values.documents)} documents${byListener(listeners)}` },
    { title: 'Deliveries/s', value: perSecond(values.deliveries), note: `${perSecond(values.records)} records/s` },
    {
      title: 'Handshakes/s', value: perSecond(values.handshakes), note: refused > 0 ? `${short(refused)} refused` : '',
      help: refused > 0 ? 'refused-handshakes' : undefined
    },
    {
      title: 'Latency p50', value: stages.produced_written?.p50 == null ? '–' : `${short(stages.produced_written.p50)} ms`,
      note: 'producer to client'
    },
    {
      title: 'Latency p99', value: p99 === null ? '–' : `${short(p99)} ms`, note: 'producer to client',
      help: p99 !== null && p99 > 1000 ? 'latency' : undefined
    },
    ...(partitions.length === 0
      ? []
      : [{ title: 'Kafka lag', value: short(values.lag), note: 'records', help: values.lag > 10_000 ? 'kafka-lag' : undefined }]),
    {
      title: 'Slow clients', value: short(values.behind), note: `${bytes(values.queuedBytes)} queued`,
      help: values.behind > 0 || slow > 0 ? 'slow-clients' : undefined
    },
    { title: 'Dead letters', value: short(letters), note: 'last hour', help: letters > 0 ? 'dead-letters' : undefined },
    {
      title: 'Event loop p99', value: `${short(values.loopP99)} ms`, note: `${perSecond(values.cpuSeconds)} cores used`,
      help: values.loopP99 > 100 ? 'load' : undefined
    }
  ]
}

/** @param {Record<string, number>} listeners @returns {string} connections by listener, if there are several */
function byListener (listeners) {
  const all = Object.entries(listeners)
  return all.length < 2 ? '' : all.map(([name, count]) => ` · ${name} ${short(count)}`).join('')
}

/** @param {Tile} tile */
function tile ({ title, value, note = '', help }) {
  const notes = element('dd', { class: 'note hint' }, note)
  if (help !== undefined)
    notes.append(note === '' ? '' : ' · ', element('a', { href: `${HELP}#${help}` }, 'what to do'))
  return element('div', { class: help === undefined ? undefined : 'bad' },
    element('dt', {}, title), element('dd', { class: 'value' }, value), notes)
}

/** @typedef {{ name: string, keys: string[], help: string, isBad?: boolean }} Event */

/** @type {Event[]} */
const EVENTS = [
  { name: 'Holes repaired from the log', keys: ['repaired'], help: 'holes-repaired' },
  { name: 'Losses without a later record', keys: ['silentLosses'], help: 'holes-repaired' },
  { name: 'Resumes', keys: ['resumes'], help: 'resumes' },
  { name: 'Resyncs', keys: ['resyncs', 'liveResyncs'], help: 'resyncs', isBad: true },
  { name: 'Slow clients closed', keys: ['slow'], help: 'slow-clients', isBad: true },
  { name: 'Ephemeral records dropped', keys: ['droppedEphemerals'], help: 'slow-clients' },
  { name: 'Connections that timed out', keys: ['expired'], help: 'timed-out-connections' },
  { name: 'Handshakes refused', keys: ['refused'], help: 'refused-handshakes', isBad: true },
  { name: 'Dead letters', keys: ['deadLetters'], help: 'dead-letters', isBad: true },
  { name: 'Errors of Redis', keys: ['busErrors'], help: 'errors-of-redis', isBad: true },
  { name: 'Processes restarted', keys: ['restarts'], help: 'restarts', isBad: true }
]

/** @typedef {Event & { recent: number, hour: number }} EventRow */
/** @typedef {{ title: string, p50: number | null, p99: number | null, worst: number | null }} StageRow */

const STAGES = {
  produced_ingested: 'producer → log',
  ingested_received: 'log → worker',
  received_written: 'worker → connections',
  produced_written: 'producer → connections'
}

/** @param {number | null} value */
const milliseconds = (value) => value === null ? '–' : short(value)

export function createViews () {
  const events = createTable(byId('events'), /** @type {import('./table.js').Column<EventRow>[]} */ ([
    { title: 'Event', value: ({ name }) => name, show: ({ name, help }) => element('a', { href: `${HELP}#${help}` }, name) },
    {
      title: 'Last 5 min', value: ({ recent }) => recent, show: ({ recent }) => short(recent), number: true,
      isBad: ({ recent, isBad }) => isBad === true && recent > 0
    },
    { title: 'Last hour', value: ({ hour }) => hour, show: ({ hour }) => short(hour), number: true }
  ]), { by: 1, descending: true, caption: 'Events' })
  const stages = createTable(byId('stages'), /** @type {import('./table.js').Column<StageRow>[]} */ ([
    { title: 'Stage', value: ({ title }) => title },
    { title: 'p50', value: ({ p50 }) => p50, show: ({ p50 }) => milliseconds(p50), number: true },
    {
      title: 'p99', value: ({ p99 }) => p99, show: ({ p99 }) => milliseconds(p99), number: true,
      isBad: ({ p99 }) => p99 !== null && p99 > 1000
    },
    { title: 'highest p99', value: ({ worst }) => worst, show: ({ worst }) => milliseconds(worst), number: true }
  ]), { by: 2, descending: true, caption: 'Latency by stage' })
  const processes = createTable(byId('processes'), processColumns(), { caption: 'Processes of this machine' })
  const partitions = createTable(byId('partitions'), partitionColumns(), { caption: 'Kafka partitions' })

  return {
    /** @param {Status} status @param {Sample[]} samples */
    show (status, samples) {
      byId('tiles').replaceChildren(...tilesOf(status, samples).map(tile))
      events(EVENTS.map((event) => {
        const { keys } = event
        return { ...event, recent: total(samples, keys, RECENT), hour: total(samples, keys) }
      }))
      stages(Object.entries(STAGES).map(([stage, title]) => ({
        title,
        p50: highest(samples, stage, 'p50', RECENT),
        p99: highest(samples, stage, 'p99', RECENT),
        worst: highest(samples, stage, 'p99', Infinity)
      })))
      processes(status.processes)
      byId('partitions-card').hidden = status.partitions.length === 0
      partitions(status.partitions)
    }
  }
}

/** @returns {import('./table.js').Column<import('./api.js').ProcessRow>[]} */
function processColumns () {
  /** @param {string} key */
  const rate = (key) => (/** @type {{ values: Record<string, number>, seconds: number }} */ { values, seconds }) =>
    seconds === 0 ? 0 : values[key] / seconds
  const [deliveries, handshakes, cpu] = [rate('deliveries'), rate('handshakes'), rate('cpuSeconds')]
  return [
    { title: 'Process', value: ({ name }) => name },
    { title: 'State', value: ({ notReady }) => notReady.join('; ') || 'ready', isBad: ({ notReady }) => notReady.length > 0 },
    { title: 'Connections', value: ({ values }) => values.connections, show: ({ values }) => short(values.connections), number: true },
    { title: 'Deliveries/s', value: deliveries, show: (row) => short(deliveries(row)), number: true },
    { title: 'Handshakes/s', value: handshakes, show: (row) => short(handshakes(row)), number: true },
    { title: 'CPU', value: cpu, show: (row) => `${Math.round(100 * cpu(row))} %`, number: true, isBad: (row) => cpu(row) > 0.95 },
    {
      title: 'Loop p99', value: ({ values }) => values.loopP99, show: ({ values }) => `${short(values.loopP99)} ms`, number: true,
      isBad: ({ values }) => values.loopP99 > 100
    },
    { title: 'Memory', value: ({ values }) => values.memory, show: ({ values }) => bytes(values.memory), number: true },
    {
      title: 'Behind', value: ({ values }) => values.behind, show: ({ values }) => short(values.behind), number: true,
      isBad: ({ values }) => values.behind > 0
    },
    { title: 'Queued', value: ({ values }) => values.queuedBytes, show: ({ values }) => bytes(values.queuedBytes), number: true },
    { title: 'Since', value: ({ startedAt }) => startedAt, show: ({ startedAt }) => since(startedAt), number: true }
  ]
}

/** @returns {import('./table.js').Column<import('./api.js').Partition>[]} */
function partitionColumns () {
  return [
    { title: 'Partition', value: ({ partition }) => partition },
    {
      title: 'Lag, records', value: ({ lag }) => lag, show: ({ lag }) => short(lag), number: true,
      isBad: ({ lag }) => (lag ?? 0) > 10_000
    },
    { title: 'Age of the last record, ms', value: ({ age }) => age, show: ({ age }) => short(age), number: true },
    {
      title: 'Canary, ms', value: ({ canaryAge }) => canaryAge, show: ({ canaryAge }) => short(canaryAge), number: true,
      isBad: ({ canaryAge }) => (canaryAge ?? 0) > 1000
    },
    {
      title: 'Ends lost', value: ({ lostEnds }) => lostEnds, show: ({ lostEnds }) => short(lostEnds ?? 0), number: true,
      isBad: ({ lostEnds }) => (lostEnds ?? 0) > 0
    }
  ]
}
