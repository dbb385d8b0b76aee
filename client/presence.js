/**
 * Who is present in a document, kept up to date by the gateway's diffs (docs/protocol.md). Diffs are numbered; where
 * one is missing, all members are asked for again.
 *
 * @typedef {object} Member a user who is present, with one tab or several
 * @property {string} uid
 * @property {string} id connection id, of the newest where there are several
 * @property {string} [name] from the token
 * @property {Record<string, any>} [state] what it has set
 * @property {{ id: string, state?: Record<string, any> }[]} [connections] all of them, where there are several
 */

/**
 * @typedef {object} PresenceDiff
 * @property {Member[]} joined
 * @property {Member[]} left
 * @property {Member[]} changed
 * @property {number} count how many there are now, also where they are too many to be listed
 */

/** @typedef {{ members: Member[], count: number, version: number, cursor?: string }} Page */
/**
 * @typedef {{ from: number, version: number, count: number, joined: Member[], left: string[], changed: Member[],
 *   members?: Member[], cursor?: string, countOnly?: boolean }} Update leads from any version since `from` to
 *   `version`; or a list of all members in its place. `left` are connection ids
 */

/** Updates kept while all members are being asked for; with more, they are asked for once more. */
const MAX_PENDING = 1000

/**
 * Members by user id. Where there are too many to be told, only their `count` is known.
 * @extends {Map<string, Member>}
 */
export class Members extends Map {
  /** How many there are. */
  count = 0
}

export class Presence {
  members = new Members()
  /** @type {number | undefined} */
  #version
  /** Updates that came while all members are being asked for. @type {Update[] | null} */
  #pending = null
  /** Tells an answer to an older question from the one that is waited for. */
  #question = 0

  /**
   * @param {(cursor: string | undefined) => Promise<Page>} ask for the members from there on
   * @param {(diff: PresenceDiff) => void} onChange
   */
  constructor (ask, onChange) {
    this.ask = ask
    this.onChange = onChange
  }

  /** All members, as of now: the answer to a join, or a list. @param {Page} page */
  joined (page) {
    this.lost()
    this.#take(page)
  }

  /** @param {Update} update */
  apply (update) {
    const { from, version, count, members, cursor, countOnly } = update
    if (members !== undefined) {
      // a list counts whatever its version, and answers what is being asked for
      this.joined({ members, version, count, cursor })
    } else if (this.#pending !== null) {
      if (this.#pending.length < MAX_PENDING) this.#pending.push(update)
      else this.#repair()
    } else if (this.#version !== undefined && version <= this.#version) {
      // it was in the list already
    } else if (countOnly) {
      this.#replace({ members: [], version, count })
    } else if (this.#version !== undefined && from <= this.#version) {
      this.#version = version
      this.#change(update, update.left)
    } else {
      this.#repair()
    }
  }

  /** The connection has gone: whatever is asked for is not answered any more. */
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
   * Asks for all members. Where that fails, so has the connection, or the next diff asks again, as it does not fit.
   * @param {Page} [first] what is there already
   */
  async #repair (first) {
    const question = ++this.#question
    this.#pending = []
    try {
      let page = first ?? await this.ask(undefined)
      // diffs that came since the first page was made are applied once more, which does no harm
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

  /** @param {Page} page that is all there is */
  #replace ({ members, version, count }) {
    this.#version = version
    const uids = new Set(members.map(({ uid }) => uid))
    const gone = [...this.members.values()].filter(({ uid }) => !uids.has(uid))
    const joined = members.filter(({ uid }) => !this.members.has(uid))
    const changed = members.filter((member) => {
      const before = this.members.get(member.uid)
      return before !== undefined && JSON.stringify(before) !== JSON.stringify(member)
    })
    this.#change({ joined, changed, count }, gone.map(({ id }) => id))
  }

  /** @param {Omit<PresenceDiff, 'left'>} diff @param {string[]} ids connections that have gone */
  #change ({ joined, changed, count }, ids) {
    for (const member of [...joined, ...changed]) this.members.set(member.uid, member)
    // who has closed one of several tabs is among the changed, with another id
    const gone = new Set(ids)
    const left = gone.size === 0 ? [] : [...this.members.values()].filter(({ id }) => gone.has(id))
    for (const { uid } of left) this.members.delete(uid)
    if (joined.length + changed.length + left.length === 0 && count === this.members.count) return
    this.members.count = count
    this.onChange({ joined, left, changed, count })
  }
}
