import { clock } from '../common/clock.js'
import { inspect } from './inspect.js'
import { Rate } from './rate.js'
import { Recent } from './recent.js'
import { createTraffic } from './traffic.js'
import { callsWaitFor, statusOf, waitsOf } from './waits.js'

/**
 * @typedef {import('../client.js').Client} Client
 * @typedef {import('../common/log.js').LogEntry} LogEntry
 * @typedef {import('../connection/options.js').ClientState} ClientState
 */

/**
 * @typedef {object} StateChange
 * @property {number} at ms since 1970
 * @property {ClientState} state
 * @property {string} reason '' if there is none
 *
 * @typedef {object} Wait
 * @property {string} name what waits: `document`, `events`, `queued sends`, or the event of a call
 * @property {string} for
 * @property {number} ms how long it has lasted
 * @property {boolean} longer whether it began before the panel was opened
 *
 * @typedef {object} DocumentView
 * @property {string} guid
 * @property {'idle' | 'joining' | 'loading' | 'live'} status
 * @property {import('../document/positions.js').Position | null} position
 * @property {number} records since the document was opened
 * @property {number} perSecond
 * @property {number} gaps
 * @property {number} resyncs
 * @property {LogEntry[]} repairs the latest gaps and resyncs, the oldest first
 * @property {number} members
 * @property {number} handles
 * @property {number} listeners
 * @property {number} held events
 * @property {{ id: string, event: string, ms: number }[]} pending the oldest first, 50 of them
 * @property {number} pendingCount
 * @property {{ sent: number, dropped: number, refused: boolean }} signals
 * @property {Wait[]} waits
 */

const MAX_CHANGES = 50
const MAX_ENTRIES = 500
const MAX_REPAIRS = 20
/** Maximum queued sends that are listed. */
const MAX_PENDING = 50
/** Log entries that belong to the repairs of a document. */
const REPAIR = /^(resync|overflow|load failed|join refused)/

/**
 * @typedef {object} Memory of one document
 * @property {Rate} rate
 * @property {Recent<LogEntry>} repairs
 * @property {Map<string, number>} since when each wait began, by a name
 * @property {number} gaps
 */

/**
 * Content of the panel. The client has its present state only: the model reads it regularly and adds history, rates,
 * and how long each wait has lasted. It begins with the panel, so earlier changes are not in it.
 */
export class Model {
  /** @type {Recent<StateChange>} */
  #changes = new Recent(MAX_CHANGES)
  /** @type {Recent<LogEntry>} */
  #entries = new Recent(MAX_ENTRIES)
  /** @type {Map<string, Memory>} by guid */
  #memories = new Map()
  #openedAt = clock.monotonic()
  /** Nothing was read yet. */
  #first = true
  #traffic
  /** Ends what it listens to. */
  #stops

  /**
   * @param {Client} client
   * @param {() => void} onChange called after each log entry and change of state
   */
  constructor (client, onChange) {
    this.client = client
    this.#traffic = createTraffic(client)
    const onState = (/** @type {ClientState} */ state, /** @type {Error | null} */ reason) => {
      this.#changes.add({ at: timeOfDay(), state, reason: reasonText(reason) })
      onChange()
    }
    onState(client.state, client.reason)
    this.#stops = [client.on('state', onState), client.onLog((entry) => {
      this.#traffic.read() // a document that was joined just now
      this.#entries.add(entry)
      if (entry.guid !== undefined && REPAIR.test(entry.what)) this.#memoryOf(entry.guid).repairs.add(entry)
      onChange()
    })]
  }

  /** Reads the client. */
  read () {
    const { documents: inspected, reason, ...connection } = inspect(this.client)
    const traffics = this.#traffic.read()
    const now = clock.monotonic()
    const documents = inspected.map((document) =>
      this.#viewOf(document, /** @type {import('./traffic.js').Traffic} */ (traffics.get(document.guid)), now))
    this.#first = false
    const guids = new Set(documents.map(({ guid }) => guid))
    for (const guid of this.#memories.keys()) if (!guids.has(guid)) this.#memories.delete(guid)
    return {
      ...connection, reason: reasonText(reason), documents,
      changes: this.#changes.entries, entries: this.#entries.entries
    }
  }

  stop () {
    for (const stop of this.#stops) stop()
    this.#traffic.stop()
  }

  /** @param {string} guid */
  #memoryOf (guid) {
    let memory = this.#memories.get(guid)
    if (memory === undefined) {
      memory = { rate: new Rate(), repairs: new Recent(MAX_REPAIRS), since: new Map(), gaps: 0 }
      this.#memories.set(guid, memory)
    }
    return memory
  }

  /**
   * Notes when waits began; forgets those that have ended.
   * @param {Memory} memory @param {number} now @param {string[]} keys
   */
  #remember ({ since }, now, keys) {
    const current = new Set(keys)
    for (const key of since.keys()) if (!current.has(key)) since.delete(key)
    for (const key of current) if (!since.has(key)) since.set(key, this.#first ? this.#openedAt : now)
    return (/** @type {string} */ key) => /** @type {number} */ (since.get(key))
  }

  /**
   * @param {import('./waits.js').InspectedDocument} document
   * @param {import('./traffic.js').Traffic} traffic
   * @param {number} now
   * @returns {DocumentView}
   */
  #viewOf (document, { signals, calls }, now) {
    const { guid, position, records, gaps, resyncs, members, readOnly, opened } = document
    const memory = this.#memoryOf(guid)
    memory.rate.add(now, records)
    if (gaps > memory.gaps && !this.#first)
      memory.repairs.add({ at: timeOfDay(), what: 'gap', detail: `up to offset ${position?.offset}` })
    memory.gaps = gaps
    const waits = waitsOf(document, this.client.state)
    const pending = document.pending.slice(0, MAX_PENDING)
    const since = this.#remember(memory, now, [
      ...waits.map((wait) => `${wait.name} ${wait.for}`), ...pending.map(({ id }) => `pending ${id}`)
    ])
    return {
      guid,
      status: statusOf(document),
      position,
      records,
      perSecond: memory.rate.perSecond,
      gaps,
      resyncs,
      repairs: memory.repairs.entries,
      members,
      handles: opened.length,
      listeners: sum(opened.map(({ listeners }) => listeners)),
      held: sum(opened.map(({ held }) => held)),
      pending: pending.map(({ id, event }) => ({ id, event, ms: now - since(`pending ${id}`) })),
      pendingCount: document.pending.length,
      signals: { ...signals, refused: readOnly },
      waits: [
        ...waits.map((wait) => {
          const began = since(`${wait.name} ${wait.for}`)
          return { ...wait, ms: now - began, longer: began === this.#openedAt }
        }),
        ...[...calls].slice(0, MAX_PENDING).map(({ event, since }) =>
          ({ name: event, for: callsWaitFor(document), ms: now - since, longer: false }))
      ]
    }
  }
}

/** @typedef {ReturnType<Model['read']>} View */

/** ms since 1970, by a clock that is never set */
// eslint-disable-next-line no-restricted-syntax -- the time of day, for people
const timeOfDay = () => performance.timeOrigin + clock.monotonic()

/** @param {Error | null} reason */
function reasonText (reason) {
  if (reason === null) return ''
  const { code } = /** @type {{ code?: string }} */ (reason)
  return code === undefined || code === reason.message ? reason.message : `${code}: ${reason.message}`
}

/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
