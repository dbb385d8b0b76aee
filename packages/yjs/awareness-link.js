import { applyAwarenessUpdate, removeAwarenessStates } from 'y-protocols/awareness'
import { encodeAwareness } from './bytes.js'

/** Signal with the complete awareness state of a page. */
export const AWARENESS = 'yjs:awareness'
/** Interval at which the states of present members are kept from timing out (after 30 s), ms. */
const TOUCH_INTERVAL = 10_000
/** Delay of the answer to a newcomer for each member, ms; at most the second. Pages choose at random within it. */
const ANNOUNCE_DELAY = { perMember: 10, max: 2000 }

/**
 * What the presence state of a connection says about its page.
 * @typedef {{ client: number, clock: number, [field: string]: any }} Card
 */

/**
 * Awareness of the pages that have a document open. Presence says who is there: the fields `fields` (name and color)
 * of everyone, also of members who may only read, from the first moment on, and removed when the connection ends.
 * Signals carry the rest: the complete state, combined, so that only the newest one is sent.
 */
export class AwarenessLink {
  #awareness
  #fields
  #state
  /** @type {import('inkcast-client').Document<any, any, any> | null} */
  #doc = null
  /** Pages in the presence, by client id of Yjs. @type {Map<number, Card>} */
  #here = new Map()
  /** Client ids that said goodbye. @type {Set<number>} */
  #gone = new Set()
  /** Connection ids in the presence. @type {Set<string>} */
  #connections = new Set()
  #shown = ''
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #announcing
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #touching

  /**
   * @param {import('y-protocols/awareness').Awareness} awareness
   * @param {{ fields: readonly string[], state: Record<string, any> }} options state: further presence state of the app
   */
  constructor (awareness, { fields, state }) {
    this.#awareness = awareness
    this.#fields = fields
    this.#state = state
    awareness.on('change', this.#onChange)
  }

  /** This page's presence state. */
  get presenceState () {
    const state = this.#awareness.getLocalState()
    if (state === null) return this.#state
    const { clientID, meta } = this.#awareness
    return { ...this.#state, yjs: { ...this.#pick(state), client: clientID, clock: meta.get(clientID)?.clock ?? 0 } }
  }

  /** @param {import('inkcast-client').Document<any, any, any>} doc */
  attach (doc) {
    this.#doc = doc
    this.#shown = JSON.stringify(this.#pick(this.#awareness.getLocalState()))
    doc.on('presence', () => this.#readPresence())
    doc.on('joined', () => {
      this.#readPresence()
      this.#announce()
    })
    doc.on(AWARENESS, (/** @type {unknown} */ payload) => this.#onSignal(payload))
    this.#touching = setInterval(() => this.#touch(), TOUCH_INTERVAL)
    this.#readPresence()
    this.#announce()
  }

  /** The document was closed: nobody else is known to be there. */
  detach () {
    this.#doc = null
    clearTimeout(this.#announcing)
    clearInterval(this.#touching)
    this.#forget([...this.#awareness.states.keys()].filter((client) => client !== this.#awareness.clientID))
    this.#here.clear()
    this.#gone.clear()
    this.#connections.clear()
  }

  /** Tells the others that this page goes, before the end of its connection would. */
  leave () {
    const { clientID, meta } = this.#awareness
    this.#signal({ client: clientID, clock: (meta.get(clientID)?.clock ?? 0) + 1, state: null })
  }

  /** The page is back from the browser's cache. */
  comeBack () {
    const state = this.#awareness.getLocalState()
    if (state === null) return
    // `leave` has used the next clock
    this.#awareness.setLocalState(state)
    this.#awareness.setLocalState(state)
    this.#announce()
  }

  destroy () {
    this.detach()
    this.#awareness.off('change', this.#onChange)
  }

  /** @param {{ added: number[], updated: number[], removed: number[] }} change */
  #onChange = ({ added, updated, removed }) => {
    if (this.#doc === null || ![added, updated, removed].some((list) => list.includes(this.#awareness.clientID))) return
    this.#announce()
    const shown = JSON.stringify(this.#pick(this.#awareness.getLocalState()))
    if (shown === this.#shown) return
    this.#shown = shown
    // a state that is not accepted is repeated by the next join
    this.#doc.setState(this.presenceState).catch(() => {})
  }

  /** @param {Record<string, any> | null} state */
  #pick (state) {
    const entries = this.#fields.map((field) => [field, state?.[field]])
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  #announce () {
    const awareness = this.#awareness
    const state = awareness.getLocalState()
    const clock = awareness.meta.get(awareness.clientID)?.clock ?? 0
    // others know the first clocks from the presence, and would ignore them
    if (state !== null && clock < 2) return void awareness.setLocalState({ ...state })
    this.#signal({ client: awareness.clientID, clock, state })
  }

  /** @param {{ client: number, clock: number, state: object | null }} data */
  #signal (data) {
    try {
      this.#doc?.signal(AWARENESS, data, { combine: data.state !== null })
    } catch {
      // the state is too large: others see who is there, without it
    }
  }

  /** @param {any} payload */
  #onSignal (payload) {
    const { client, clock, state } = payload ?? {}
    if (!isId(client) || !isId(clock) || typeof state !== 'object' || client === this.#awareness.clientID) return
    if (state === null) this.#gone.add(client)
    else this.#gone.delete(client)
    applyAwarenessUpdate(this.#awareness, encodeAwareness(client, clock, state), this)
  }

  #readPresence () {
    if (this.#doc === null) return
    const { presence } = this.#doc
    // too many to be listed: pages show the members that move, and remove those that are silent for 30 s
    if (presence.size === 0 && presence.count > 0) return this.#here.clear()
    /** @type {Map<number, Card>} */
    const here = new Map()
    const connections = new Set()
    for (const member of presence.values()) {
      for (const { id, state } of member.connections ?? [member]) {
        connections.add(id)
        const card = /** @type {any} */ (state)?.yjs
        const { client, clock } = card ?? {}
        if (isId(client) && isId(clock) && client !== this.#awareness.clientID) here.set(client, card)
      }
    }
    this.#forget([...this.#here.keys()].filter((client) => !here.has(client)))
    for (const client of this.#gone) if (!here.has(client)) this.#gone.delete(client)
    this.#here = here
    for (const card of here.values()) this.#show(card)
    const hasNew = [...connections].some((id) => !this.#connections.has(id))
    this.#connections = connections
    if (hasNew) this.#announceSoon(presence.count)
  }

  /** @param {Card} card */
  #show ({ client, clock, ...fields }) {
    const { states, meta } = this.#awareness
    const state = states.get(client)
    const known = meta.get(client)?.clock ?? 0
    if (this.#gone.has(client) || (state !== undefined && clock <= known)) return
    const shown = { ...state, ...fields }
    if (state !== undefined && JSON.stringify(shown) === JSON.stringify(state)) return
    // below the clock of the signal with the rest
    const next = Math.max(1, clock - 1)
    if (state === undefined) meta.delete(client)
    applyAwarenessUpdate(this.#awareness, encodeAwareness(client, Math.max(next, state ? known + 1 : 1), shown), this)
  }

  /** @param {number[]} clients */
  #forget (clients) {
    if (clients.length > 0) removeAwarenessStates(this.#awareness, clients, this)
    // the same page may come back with the same clock
    for (const client of clients) this.#awareness.meta.delete(client)
  }

  /** A newcomer does not know the states of the others. @param {number} members */
  #announceSoon (members) {
    clearTimeout(this.#announcing)
    const delay = Math.min(ANNOUNCE_DELAY.max, ANNOUNCE_DELAY.perMember * members) * Math.random()
    this.#announcing = setTimeout(() => this.#announce(), delay)
  }

  /** Presence says who is there, so that nobody needs to repeat a state that has not changed. */
  #touch () {
    if (!this.#doc?.live) return
    const { meta } = this.#awareness
    // y-protocols compares with the time of day
    // eslint-disable-next-line no-restricted-syntax
    const lastUpdated = Date.now()
    for (const client of this.#here.keys()) {
      const known = meta.get(client)
      if (known !== undefined) meta.set(client, { ...known, lastUpdated })
    }
  }
}

/** @param {unknown} value */
const isId = (value) => Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0
