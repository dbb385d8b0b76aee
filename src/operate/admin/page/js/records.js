/**
 * The events of a watch, put together: one row per record, and one per other event. Both lists are bounded.
 *
 * @typedef {import('./feed.js').InspectEvent} InspectEvent
 * @typedef {{ traceId: string, at: number, title: string, offset: number | null, ingested: number | null, logged:
 *   number | null, received: number | null, written: number | null, clients: number, acknowledged: number, end: string,
 *   hops: InspectEvent[] }} RecordRow
 */

const MAX_RECORDS = 200
const MAX_HAPPENINGS = 200
const MAX_HOPS = 200
/** Hops of a record; everything else is listed by itself. */
const HOPS = new Set([
  'produced', 'ingested', 'logged', 'published', 'duplicate', 'received', 'written', 'queued', 'dropped', 'behind',
  'excepted', 'acknowledged', 'refused', 'dead_letter'
])
/** Stages that follow each other, also where the clocks of machines differ; other hops have none. */
const STAGES = ['produced', 'ingested', 'logged', 'received']
/** Ends that are not the usual one. */
const UNUSUAL = new Set(['duplicate', 'dropped', 'behind', 'queued', 'refused', 'dead_letter'])

/** @param {InspectEvent[]} hops of one record @returns {InspectEvent[]} by stage, and within a stage by time */
export function inOrder (hops) {
  const stageOf = (/** @type {InspectEvent} */ { hop }) => {
    const stage = STAGES.indexOf(hop)
    return stage === -1 ? STAGES.length : stage
  }
  return [...hops].sort((a, b) => stageOf(a) - stageOf(b) || a.at - b.at)
}

export function createRecords () {
  /** @type {Map<string, RecordRow>} */
  const records = new Map()
  /** @type {InspectEvent[]} */
  let happenings = []
  /** @type {Set<string>} */
  const processes = new Set()
  const left = { out: 0, shown: 0 }

  /** @param {InspectEvent} event @param {string} traceId */
  function addHop (event, traceId) {
    let row = records.get(traceId)
    if (row === undefined) {
      row = {
        traceId, at: event.at, title: '', offset: null, ingested: null, logged: null, received: null, written: null, clients: 0,
        acknowledged: 0, end: '', hops: []
      }
      records.set(traceId, row)
      if (records.size > MAX_RECORDS) {
        records.delete(/** @type {string} */ (records.keys().next().value))
        left.shown++
      }
    }
    const { hop, ms = 0 } = event
    row.at = Math.min(row.at, event.at)
    row.title ||= [event.event, event.operator === 'broadcast' ? '' : event.operator].filter(Boolean).join(' · ')
    row.offset ??= event.offset ?? null
    if (hop === 'ingested') row.ingested = ms
    if (hop === 'logged' || hop === 'published') row.logged = ms
    if (hop === 'received') row.received = Math.max(row.received ?? 0, ms)
    if (hop === 'written') {
      row.written = Math.max(row.written ?? 0, ms)
      row.clients += event.count ?? 0
    }
    if (hop === 'acknowledged') row.acknowledged++
    if (UNUSUAL.has(hop)) row.end = event.reason === undefined ? hop : `${hop}: ${event.reason}`
    if (row.hops.length < MAX_HOPS) row.hops.push(event)
  }

  return {
    processes,
    left,
    /** @returns {RecordRow[]} */
    rows: () => [...records.values()],
    happenings: () => happenings,
    /** @param {string} traceId */
    record: (traceId) => records.get(traceId),
    /** @param {InspectEvent[]} events */
    add (events) {
      for (const event of events) {
        if (event.process !== undefined) processes.add(`${event.host} ${event.process}`)
        if (event.hop === 'left_out') left.out += event.count ?? 0
        else if (event.hop === 'watching' || event.hop === 'alive') continue
        else if (event.traceId !== undefined && HOPS.has(event.hop)) addHop(event, event.traceId)
        else happenings.push(event)
      }
      left.shown += Math.max(0, happenings.length - MAX_HAPPENINGS)
      happenings = happenings.slice(-MAX_HAPPENINGS)
    },
    clear () {
      records.clear()
      happenings = []
      processes.clear()
      left.out = left.shown = 0
    }
  }
}
