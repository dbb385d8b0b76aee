import { clock } from '../common/clock.js'
import { lasting } from './lasting.js'

/**
 * @typedef {import('../index.js').Client} Client
 * @typedef {import('../index.js').Document<any, any, any>} Document
 * @typedef {import('../index.js').Position} Position
 * @typedef {import('../index.js').Meta} Meta
 */

/**
 * @template Data
 * @callback LoadData
 * @param {{ position: Position, reason: string, signal: AbortSignal }} request as of the client's `load`
 * @returns {Promise<{ data: Data, position?: Position | undefined }>} the document, and the position it contains
 */

/**
 * @template Data
 * @template Events
 * @callback Reduce
 * @param {Data} data
 * @param {{ [E in keyof Events & string]: { event: E, payload: Events[E], meta: Meta } }[keyof Events & string]} record
 * @returns {Data}
 */

/**
 * Callbacks may be other functions later, for instance in each render of React; the newest is called. The other options
 * are those that opened the document.
 *
 * @template Data
 * @template Events
 * @typedef {object} DocumentOptions
 * @property {Data | undefined} [initial] data before the document is loaded
 * @property {LoadData<Data> | undefined} [load]
 * @property {Reduce<Data, Events> | undefined} [reduce] applies a record
 * @property {number | undefined} [last] begins with this number of newest records, in place of `load`
 * @property {((record: { event: string, payload: any, meta: Meta }) => void) | undefined} [onRecord]
 * @property {((resync: import('../index.js').Resync) => void) | undefined} [onResync] called when records are
 *   missing: without `load` at each resync, with `load` only if more than 10,000 records waited for the hook (it then
 *   also loads the document again). With `reduce` alone, missing records are an error
 * @property {object | undefined} [state] of this member in the presence
 * @property {boolean | 'watch' | undefined} [presence]
 * @property {boolean | undefined} [echo] default: true
 * @property {boolean | undefined} [offline] `doc` and `pending` are there without a connection
 */

/**
 * @template Data
 * @typedef {object} DocumentSnapshot
 * @property {import('../index.js').Status} status
 * @property {Data} data
 * @property {Error | null} error why it could not be opened, or was closed; while `status` is `loading`: why the last
 *   call of `load` failed, which the client repeats
 * @property {readonly import('../index.js').QueuedSend[]} pending
 * @property {Document | null} doc null until it is open
 */

/**
 * One opened document, for the components of one hook or one composable.
 *
 * @param {Client | null} client
 * @param {string} guid
 * @param {{ current: DocumentOptions<any, any> }} latest
 * @param {any} initial for this guid: with React `latest` still has the options of the render before
 */
export function createDocumentStore (client, guid, latest, initial) {
  /** @type {DocumentSnapshot<any>} */
  const before = { status: 'joining', data: initial, error: null, pending: [], doc: null }

  return lasting((changed) => {
    let snapshot = before
    const leaving = new AbortController()
    /** @type {import('../common/clock.js').Timer | undefined} */
    let timer
    /** @param {Partial<typeof snapshot>} change */
    const set = (change) => {
      snapshot = { ...snapshot, ...change }
      // a backlog of records is one render
      timer ??= clock.timer(0, () => {
        timer = undefined
        changed()
      })
    }
    if (client !== null) open(client, latest, guid, leaving.signal, set, () => snapshot.data)
    return { snapshot: () => snapshot, end: () => leaving.abort() }
  }, before)
}

/**
 * @param {Client} client
 * @param {{ current: DocumentOptions<any, any> }} latest
 * @param {string} guid
 * @param {AbortSignal} signal
 * @param {(change: Partial<DocumentSnapshot<any>>) => void} set
 * @param {() => any} data
 */
async function open (client, latest, guid, signal, set, data) {
  const { load, last, state, presence, echo = true, offline } = latest.current
  /** @type {Document | undefined} */
  let doc
  // the client may have another state by the time its error is here
  let refusal = client.state === 'refused' ? client.reason : undefined
  const stop = client.on('state', (state, reason) => { if (state === 'refused') refusal = reason })
  try {
    doc = await client.open(guid, {
      last,
      state,
      presence,
      echo,
      offline,
      signal,
      onReason: (error) => { if (!signal.aborted) set({ error }) },
      // the client says what is wrong with something else
      ...(load && typeof load !== 'function' && { load }),
      ...(typeof load === 'function' && {
        async load (request) {
          set({ status: 'loading' })
          const { data, position } = await /** @type {typeof load} */ (latest.current.load)(request)
          if (request.signal.aborted) return
          set({ data })
          return position
        }
      })
    })
    stop()
    const opened = doc
    signal.addEventListener('abort', () => opened.close())
    doc.on('doc:status', (status) => { if (!signal.aborted) set({ status }) })
    doc.on('doc:pending', (pending) => set({ pending }))
    doc.on('closed', (error) => set({ error, status: 'closed' }))
    set({ doc, status: doc.status, pending: doc.pending })
    for await (const { event, payload, meta } of doc) {
      if (signal.aborted) return
      const { reduce, onRecord, onResync } = latest.current
      if (meta === undefined) {
        onResync?.(payload)
        // with `load` only if this loop is too far behind; everything else is loaded without a turn of it
        if (load !== undefined) opened.reload().catch(() => {}) // the event `closed` reports failures
        else if (onResync === undefined && reduce !== undefined)
          throw new Error('records are missing: useDocument needs `load` or `onResync`')
        continue
      }
      if (reduce !== undefined) set({ data: reduce(data(), { event, payload, meta }) })
      onRecord?.({ event, payload, meta })
    }
  } catch (error) {
    stop()
    if (signal.aborted) return
    doc?.close()
    set({ error: /** @type {Error} */ (error), status: 'closed' })
    if (doc === undefined && error === refusal) openLater(client, latest, guid, signal, set, data)
  }
}

/**
 * Opens the document when a client that was refused is connected again, for instance with another token.
 * @param {Parameters<typeof open>} args
 */
function openLater (...args) {
  const [client, , , signal, set] = args
  const stop = client.on('state', (state) => {
    if (state !== 'connected') return
    stop()
    if (signal.aborted) return
    set({ error: null, status: 'joining' })
    open(...args)
  })
  signal.addEventListener('abort', stop)
}
