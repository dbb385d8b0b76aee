/**
 * Vue composables for inkcast.
 *
 * Reference: docs/vue.md
 */
import { computed, inject, markRaw, onMounted, shallowRef, toValue, watch } from 'vue'
import { connect } from 'inkcast-client'
import { CONNECTING, createConnectionStore, createDocumentStore, createPresenceStore, EMPTY } from 'inkcast-client/stores'

/** @typedef {import('inkcast-client').Client} Client */
/** @template T @typedef {{ readonly [K in keyof T]: import('vue').ComputedRef<T[K]> }} Refs */
/**
 * @template Data, Events
 * @typedef {import('inkcast-client/stores').DocumentOptions<Data, Events>} DocumentOptions
 */

/** @type {import('vue').InjectionKey<{ client: import('vue').ShallowRef<Client | null>, start: () => void }>} */
const KEY = Symbol('inkcast')

/**
 * A plugin for `app.use`: gives a client to all components. One of yours, or one for a `url`, which connects when the
 * first component that uses it is mounted, and is closed with the app.
 *
 * @param {{ client: Client } | { url: string, options?: import('inkcast-client').ClientOptions | undefined }} source
 * @returns {import('vue').Plugin}
 */
export function createInkcast (source) {
  return {
    install (app) {
      /** @type {import('vue').ShallowRef<Client | null>} */
      const client = shallowRef('client' in source ? source.client : null)
      app.provide(KEY, {
        client,
        start () { if ('url' in source) client.value ??= connect(source.url, source.options) }
      })
      app.onUnmount(() => { if ('url' in source) client.value?.close() })
    }
  }
}

/** @returns {import('vue').ShallowRef<Client | null>} null on a server, and until a component is mounted */
export function useClient () {
  const given = inject(KEY)
  if (given === undefined) throw new Error('inkcast-vue needs app.use(createInkcast({ url }))')
  onMounted(given.start)
  return given.client
}

/**
 * The connection, for an indicator.
 * @returns {Refs<import('inkcast-client/stores').ConnectionSnapshot> & { connect: () => void }} connect: tries again
 *   now, also after a refusal
 */
export function useConnection () {
  const client = useClient()
  const snapshot = useStore(client, createConnectionStore, CONNECTING)
  return {
    state: computed(() => snapshot.value.state),
    reason: computed(() => snapshot.value.reason),
    connect: () => client.value?.connect()
  }
}

/**
 * Opens a document while the component is mounted. With `load` and `reduce`, `data` is the document.
 *
 * @template {object} [Events=Record<string, any>] payloads by the names of records
 * @template {object} [Presence=Record<string, any>] state of a member
 * @template {object} [Signals=Record<string, any>] data by the names of signals
 * @template [Data=undefined]
 * @param {import('vue').MaybeRefOrGetter<string>} guid
 * @param {import('vue').MaybeRefOrGetter<DocumentOptions<Data, Events> & { state?: Presence | undefined }>} [options] a
 *   getter is called whenever an option is needed
 * @returns {Refs<Omit<import('inkcast-client/stores').DocumentSnapshot<Data>, 'doc'> & {
 *   doc: import('inkcast-client').Document<Events, Presence, Signals> | null }>} doc: null until it is open
 */
export function useDocument (guid, options = {}) {
  const client = useClient()
  const latest = { get current () { return toValue(options) } }
  const snapshot = useStore(
    // one by one: a new object of the same values would open the document again
    [() => client.value, () => toValue(guid)],
    ([given, id]) => createDocumentStore(given, id, latest, latest.current.initial),
    createDocumentStore(null, '', latest, latest.current.initial).before()
  )
  return {
    status: computed(() => snapshot.value.status),
    data: computed(() => snapshot.value.data),
    error: computed(() => snapshot.value.error),
    pending: computed(() => snapshot.value.pending),
    doc: computed(() => snapshot.value.doc && markRaw(snapshot.value.doc))
  }
}

/**
 * The members present in a document that was opened with `state` or `presence`.
 *
 * @template {object} Presence
 * @param {import('vue').MaybeRefOrGetter<import('inkcast-client').Document<any, Presence, any> | null>} doc of
 *   useDocument
 * @returns {Refs<import('inkcast-client/stores').PresenceSnapshot<Presence>> & {
 *   setState: (state: Presence) => Promise<void>, setIdle: (idle: boolean) => Promise<void> }} for others to see
 */
export function usePresence (doc) {
  const snapshot = useStore(() => toValue(doc), createPresenceStore, EMPTY)
  return {
    members: computed(() => snapshot.value.members),
    count: computed(() => snapshot.value.count),
    setState: (state) => createPresenceStore(toValue(doc)).setState(state),
    setIdle: (idle) => createPresenceStore(toValue(doc)).setIdle(idle)
  }
}

/**
 * Listens to a signal of others who have the document open, and sends one to them.
 *
 * @template {object} Signals
 * @template {keyof Signals & string} E
 * @param {import('vue').MaybeRefOrGetter<import('inkcast-client').Document<any, any, Signals> | null>} doc of
 *   useDocument
 * @param {E} event
 * @param {(data: Signals[E], meta: import('inkcast-client').Meta) => void} [listener]
 * @returns {(data: Signals[E], options?: { combine?: boolean | undefined }) => boolean} sends a signal; false: it was
 *   not sent (no connection, or the client may not signal)
 */
export function useSignal (doc, event, listener = () => {}) {
  onMounted(() => watch(() => toValue(doc), (opened, _before, onCleanup) => {
    onCleanup(opened?.on(/** @type {any} */ (event), /** @type {any} */ (listener)) ?? (() => {}))
  }, { immediate: true }))
  return (data, options) => toValue(doc)?.signal(event, data, options) ?? false
}

/**
 * The snapshots of a store of `source`, while the component is mounted. Nothing happens on a server.
 *
 * @template Source, Snapshot
 * @param {import('vue').WatchSource<Source> | { [K in keyof Source]: import('vue').WatchSource<Source[K]> }} source
 * @param {(source: Source) => { subscribe: (changed: () => void) => () => void, snapshot: () => Snapshot }} make
 * @param {Snapshot} before the first snapshot
 */
function useStore (source, make, before) {
  const current = shallowRef(before)
  onMounted(() => watch(/** @type {any} */ (source), (given, _before, onCleanup) => {
    const { subscribe, snapshot } = make(given)
    const show = () => { current.value = snapshot() }
    onCleanup(subscribe(show))
    show()
  }, { immediate: true }))
  return current
}
