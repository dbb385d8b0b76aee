import { shownMembers } from '../oracle/presence-checker.js'

/** Time until pages change a state again, ms. */
const CHANGE = 700

/** @typedef {import('../scenario.js').Traffic} Traffic */

/**
 * Presence and sessions: pages change their states, and in the end each page and the api show those that are open.
 * @implements {Traffic}
 */
export class People {
  #changes = 0
  #compared = 0
  /** The difference from the answer of the api; undefined: it was not asked yet. @type {string | undefined} */
  #wrong
  #isAsking = false
  #agrees = false

  /**
   * @param {import('../world/world.js').World} world
   * @param {import('./tabs.js').Tabs} tabs
   * @param {import('./service.js').Service} service
   */
  constructor (world, tabs, service) {
    this.world = world
    this.tabs = tabs
    this.service = service
    this.drawn = world.random.fork()
  }

  /** @param {number} until */
  begin (until) {
    const { world, tabs, drawn } = this
    const { present } = tabs
    if (present.length === 0) return
    const next = () => {
      if (world.time >= until) return
      world.schedule(drawn.duration(CHANGE), 'a state', next, null)
      const pages = tabs.open.filter(({ presence }) => presence.size > 0)
      if (pages.length === 0) return
      const page = drawn.pick(pages)
      const guid = drawn.pick([...page.presence.keys()])
      const state = { of: page.name, number: ++this.#changes }
      page.process.enter('state', () => page.setState(guid, state))
    }
    world.schedule(drawn.duration(CHANGE), 'a state', next, null)
  }

  /** @param {string} guid @returns {string} who has to be there, as `shownMembers` */
  #expected (guid) {
    /** @type {Map<string, { id: string, state?: object }[]>} */
    const users = new Map()
    for (const { presence, uid, connectionId = '' } of this.tabs.open) {
      const part = presence.get(guid)
      if (part !== undefined) users.set(uid, [...users.get(uid) ?? [], { id: connectionId, state: part.state }])
    }
    return shownMembers([...users].map(([uid, connections]) => ({ uid, id: '', connections })))
  }

  missing () {
    for (const guid of this.tabs.present) {
      const expected = this.#expected(guid)
      for (const page of this.tabs.open) {
        if (!page.presence.has(guid)) continue
        const shown = shownMembers(page.members(guid))
        if (shown !== expected) return `${page.name} shows in ${guid} ${shown}, and there are ${expected}`
        this.#compared++
      }
    }
    if (this.#agrees) return undefined
    this.#ask()
    return this.#wrong ?? 'the api was not asked yet'
  }

  #ask () {
    if (this.#isAsking) return
    this.#isAsking = true
    this.service.process.enter('ask for people', async () => {
      this.#wrong = await this.#compare()
      this.#agrees = this.#wrong === undefined
      this.#isAsking = false
    })
  }

  /** @returns {Promise<string | undefined>} what the api does not agree with */
  async #compare () {
    const { tabs, service } = this
    for (const guid of tabs.present) {
      const { members } = await service.read(`/v1/documents/${guid}/presence?limit=1000`)
      const shown = shownMembers(members)
      const expected = this.#expected(guid)
      if (shown !== expected) return `the api has in ${guid} ${shown}, and there are ${expected}`
    }
    for (const uid of tabs.uids) {
      const { sessions } = await service.read(`/v1/users/${uid}/sessions`)
      const shown = sessions
        // clients of MQTT do not learn their sid
        .map((/** @type {any} */ { sid, client, listener = '', documents }) =>
          `${listener.startsWith('mqtt') ? client : sid} ${[...documents].sort()}`).sort().join('; ')
      const expected = tabs.open.filter((page) => page.uid === uid)
        .map(({ connectionId, documents }) => `${connectionId} ${[...documents.keys()].sort()}`).sort().join('; ')
      if (shown !== expected) return `the api has the sessions ${shown} of ${uid}, and there are ${expected}`
    }
    return undefined
  }

  counts () {
    const parts = this.tabs.pages.flatMap(({ presence }) => [...presence.values()])
    const sum = (/** @type {'lists' | 'updates'} */ what) =>
      parts.reduce((total, { checker }) => total + checker[what], 0)
    return {
      'states set': this.#changes,
      'lists of members': sum('lists'),
      'changes of members': sum('updates'),
      'lists of members compared': this.#compared
    }
  }
}
