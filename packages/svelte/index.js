/**
 * Svelte stores for inkcast.
 *
 * Reference: docs/svelte.md
 */
import { getContext, onMount, setContext } from 'svelte'
import { derived, readable, writable } from 'svelte/store'
import { connect } from 'inkcast-client'
import { CONNECTING, createConnectionStore, createDocumentStore, createPresenceStore, EMPTY } from 'inkcast-client/stores'

/** @typedef {import('inkcast-client').Client} Client */
/**
 * @template T
 * @typedef {import('svelte/store').Readable<T>} Readable
 */
/**
 * @template Data, Events
 * @typedef {import('inkcast-client/stores').DocumentOptions<Data, Events>} DocumentOptions
 */
/**
 * @template {object} [Events=Record<string, any>]
 * @template {object} [Presence=Record<string, any>]
 * @template {object} [Signals=Record<string, any>]
 * @template [Data=undefined]
 * @typedef {Omit<import('inkcast-client/stores').DocumentSnapshot<Data>, 'doc'> & {
 *   doc: import('inkcast-client').Document<Events, Presence, Signals> | null }} DocumentSnapshot
 */

const KEY = Symbol('inkcast')

/**
 * Gives a client to the components below: one of yours, or one for a `url`, which connects in the browser when this
 * component is mounted, and is closed with it.
 *
 * @param {{ client: Client } | { url: string, options?: import('inkcast-client').ClientOptions | undefined }} source
 */
export function provideInkcast (source) {
  /** @type {import('svelte/store').Writable<Client | null>} */
  const client = writable('client' in source ? source.client : null)
  setContext(KEY, client)
  if ('client' in source) return
  onMount(() => {
    const made = connect(source.url, source.options)
    client.set(made)
    return () => made.close()
  })
}

/** @returns {Readable<Client | null>} null on a server, and until the component that provides a `url` is mounted */
export function useClient () {
  const client = getContext(KEY)
  if (client === undefined) throw new Error('inkcast-svelte needs a component above that calls provideInkcast')
  return /** @type {Readable<Client | null>} */ (client)
}

/**
 * The connection, for an indicator.
 * @returns {Readable<import('inkcast-client/stores').ConnectionSnapshot> & { connect: () => void }} connect: tries
 *   again now, also after a refusal
 */
export function useConnection () {
  const client = useClient()
  /** @type {Client | null} */
  let current = null
  const { subscribe } = derived(client, (given, /** @type {(value: any) => void} */ set) => {
    current = given
    return following(createConnectionStore(given), set)
  }, CONNECTING)
  return { subscribe, connect: () => current?.connect() }
}

/**
 * Opens a document while the store has subscribers. With `load` and `reduce`, `data` is the document.
 *
 * @template {object} [Events=Record<string, any>] payloads by the names of records
 * @template {object} [Presence=Record<string, any>] state of a member
 * @template {object} [Signals=Record<string, any>] data by the names of signals
 * @template [Data=undefined]
 * @param {string | Readable<string>} guid
 * @param {DocumentOptions<Data, Events> & { state?: Presence | undefined }} [options]
 * @returns {Readable<DocumentSnapshot<Events, Presence, Signals, Data>>}
 */
export function useDocument (guid, options = {}) {
  const guids = typeof guid === 'string' ? readable(guid) : guid
  const latest = { current: options }
  const before = { status: 'joining', data: options.initial, error: null, pending: [], doc: null }
  return derived([useClient(), guids], ([client, current], /** @type {(value: any) => void} */ set) => {
    // on a server too
    if (client === null) return set(before)
    return following(createDocumentStore(client, current, latest, options.initial), set)
  }, /** @type {any} */ (before))
}

/**
 * The members present in a document that was opened with `state` or `presence`.
 *
 * @template {object} Presence
 * @param {Readable<DocumentSnapshot<any, Presence, any, any>>} document of useDocument
 * @returns {Readable<import('inkcast-client/stores').PresenceSnapshot<Presence>> & {
 *   setState: (state: Presence) => Promise<void>, setIdle: (idle: boolean) => Promise<void> }} for others to see
 */
export function usePresence (document) {
  let store = createPresenceStore(/** @type {import('inkcast-client').Document<any, Presence, any> | null} */ (null))
  const { subscribe } = derived(docOf(document), (doc, /** @type {(value: typeof EMPTY) => void} */ set) => {
    store = createPresenceStore(doc)
    return following(store, set)
  }, EMPTY)
  return { subscribe, setState: (state) => store.setState(state), setIdle: (idle) => store.setIdle(idle) }
}

/**
 * Listens to a signal of others who have the document open while the component is mounted, and sends one to them.
 *
 * @template {object} Signals
 * @template {keyof Signals & string} E
 * @param {Readable<DocumentSnapshot<any, any, Signals, any>>} document of useDocument
 * @param {E} event
 * @param {(data: Signals[E], meta: import('inkcast-client').Meta) => void} [listener]
 * @returns {(data: Signals[E], options?: { combine?: boolean | undefined }) => boolean} sends a signal; false: it was
 *   not sent (no connection, or the client may not signal)
 */
export function useSignal (document, event, listener = () => {}) {
  /** @type {import('inkcast-client').Document<any, any, Signals> | null} */
  let current = null
  const listening = derived(docOf(document), (doc, _set) => {
    current = doc
    return doc?.on(/** @type {any} */ (event), /** @type {any} */ (listener))
  })
  onMount(() => listening.subscribe(() => {}))
  return (data, options) => current?.signal(event, data, options) ?? false
}

/** @template Doc @param {Readable<{ doc: Doc }>} document @returns {Readable<Doc>} changes with `doc` only */
const docOf = (document) => {
  /** @type {Doc | undefined} */
  let last
  return derived(document, ({ doc }, set) => { if (doc !== last) set(last = doc) }, /** @type {any} */ (null))
}

/**
 * @template T
 * @param {{ subscribe: (changed: () => void) => () => void, snapshot: () => T }} store
 * @param {(value: T) => void} set
 */
function following ({ subscribe, snapshot }, set) {
  set(snapshot())
  return subscribe(() => set(snapshot()))
}
