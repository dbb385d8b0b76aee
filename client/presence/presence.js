/**
 * The members present in a document, kept up to date by the gateway's diffs (docs/protocol-details.md). Diffs are
 * numbered; if
 * one is missing, all members are requested again.
 */

/**
 * A present user, with one or more tabs.
 * @template {object} [State=Record<string, any>]
 * @typedef {object} Member
 * @property {string} uid id of the user; without a token `anonymous:…`, another one for each tab
 * @property {string} id connection id; with several tabs, that of the newest one
 * @property {string} [name] name of the user, from the token
 * @property {State} [state] set by the page of the user; with several tabs, by the newest one
 * @property {true} [idle] present if the page has called `setIdle(true)`; with several tabs, if all of them have
 * @property {{ id: string, state?: State, idle?: true }[]} [connections] one entry for each tab, if there are several
 */

/**
 * @template {object} [State=Record<string, any>]
 * @typedef {object} PresenceDiff
 * @property {Member<State>[]} joined users who are new in the list
 * @property {Member<State>[]} left users who are no longer in the list
 * @property {Member<State>[]} changed members with another state, name or tab than before
 * @property {number} count current number of members, also above `PRESENCE_MAX_MEMBERS`
 */

/**
 * A user who was a member.
 * @typedef {object} Left
 * @property {string} uid
 * @property {string} [name]
 * @property {number} lastSeen when the user left, ms since 1970
 */

/** @typedef {{ members: Member[], count: number, version: number, cursor?: string }} Page */
/**
 * @typedef {{ from: number, version: number, count: number, joined: Member[], left: string[], changed: Member[],
 *   members?: Member[], cursor?: string, countOnly?: boolean }} Update leads from any version since `from` to
 *   `version`; or a list of all members instead. `left` are connection ids
 */

/** Maximum updates kept during a request for all members; above it the members are requested again. */
const MAX_PENDING = 1000

/**
 * Members by user id, and their number. If there are too many to be listed, only the number is known.
 * @typedef {Map<string, Member> & { count: number }} Members
 */

export class Presence {
  /** @type {number | undefined} */
  #version
  /** Updates that arrived during a request for all members. @type {Update[] | null} */
  #pending = null
  /** Number of the current request, to ignore answers to earlier ones. */
  #question = 0

  /**
   * @param {Members} members kept up to date
   * @param {(cursor: string | undefined) => Promise<Page>} ask requests the members from the cursor on
   * @param {(diff: PresenceDiff) => void} onChange
   */
  constructor (members, ask, onChange) {
    this.members = members
    this.ask = ask
    this.onChange = onChange
  }

  /** Takes all current members: the answer to a join, or a list. @param {Page} page */
  joined (page) {
    this.lost()
    this.#take(page)
  }

  /** @param {Update} update */
  apply (update) {
    const { from, version, count, members, cursor, countOnly } = update
    if (members !== undefined) {
      // a list is valid whatever its version, and replaces the answer to a request in progress
      this.joined({ members, version, count, cursor })
    } else if (this.#pending !== null) {
      if (this.#pending.length < MAX_PENDING) this.#pending.push(update)
      else this.#repair()
    } else if (this.#version !== undefined && version <= this.#version) {
      // the list contains it already
    } else if (countOnly) {
      this.#replace({ members: [], version, count })
    } else if (this.#version !== undefined && from <= this.#version) {
      this.#version = version
      this.#change([...update.joined, ...update.changed], update.left, count)
    } else {
      this.#repair()
    }
  }

  /** Called when the connection is lost: requests in progress will not be answered. */
  lost () {
    this.#question++
    this.#pending = null
    this.#version = undefined
  }

  /** @param {Page} page the first */
  #take (page) {
    if (page.cursor === undefined) this.#replace(page)
    else this.#repair(page)
  }

  /**
   * Requests all members. If that fails, the connection is lost, or the next diff requests them again because of the
   * gap.
   * @param {Page} [first] page that is known already
   */
  async #repair (first) {
    const question = ++this.#question
    this.#pending = []
    try {
      let page = first ?? await this.ask(undefined)
      // diffs newer than the first page are applied again, which does no harm
      const { version } = page
      /** @type {Member[]} */
      const members = []
      while (question === this.#question) {
        members.push(...page.members)
        if (page.cursor === undefined) break
        page = await this.ask(page.cursor)
      }
      if (question !== this.#question) return
      const pending = this.#pending ?? []
      this.#pending = null
      this.#replace({ members, version, count: page.count })
      for (const update of pending) this.apply(update)
    } catch {
      if (question === this.#question) this.lost()
    }
  }

  /** @param {Page} page the only one */
  #replace ({ members, version, count }) {
    this.#version = version
    const uids = new Set(members.map(({ uid }) => uid))
    const gone = [...this.members.values()].filter(({ uid }) => !uids.has(uid))
    this.#change(members, gone.map(({ id }) => id), count)
  }

  /**
   * @param {Member[]} members some that the list may have already
   * @param {string[]} ids closed connections
   * @param {number} count
   */
  #change (members, ids, count) {
    /** @type {Member[]} */
    const joined = []
    /** @type {Member[]} */
    const changed = []
    for (const member of members) {
      const before = this.members.get(member.uid)
      if (before === undefined) joined.push(member)
      else if (JSON.stringify(before) !== JSON.stringify(member)) changed.push(member)
      this.members.set(member.uid, member)
    }
    // a user who has closed one of several tabs is in `changed`, with another id
    const gone = new Set(ids)
    const left = gone.size === 0 ? [] : [...this.members.values()].filter(({ id }) => gone.has(id))
    for (const { uid } of left) this.members.delete(uid)
    if (joined.length + changed.length + left.length === 0 && count === this.members.count) return
    this.members.count = count
    this.onChange({ joined, left, changed, count })
  }
}
