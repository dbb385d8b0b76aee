/**
 * Who has a document open, kept up to date by the gateway's diffs. Diffs are numbered; where one is missing, all
 * members are asked for again.
 *
 * @typedef {object} Member one connection that has the document open
 * @property {string} id of the connection
 * @property {string} uid of the user
 * @property {string} [name] of the user, from the token
 * @property {Record<string, any>} [state] what the member set
 */

/**
 * @typedef {object} PresenceDiff
 * @property {Member[]} joined
 * @property {string[]} left connection ids
 * @property {Member[]} changed
 */

/** @typedef {PresenceDiff & { version?: number }} NumberedDiff */
/** @typedef {{ members: Member[], version?: number, cursor?: string }} Page */

/** Diffs kept while all members are being asked for; with more, they are asked for once more. */
const MAX_PENDING = 1000

export class Presence {
  /** @type {Map<string, Member>} by connection id */
  members = new Map()
  /** @type {number | undefined} */
  #version
  /** Diffs that came while all members are being asked for. @type {NumberedDiff[] | null} */
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

  /** The members at the time of a join. @param {Page} page */
  joined ({ members, version, cursor }) {
    this.#question++
    this.#pending = null
    this.#version = version
    if (cursor === undefined) this.#replace(members)
    else this.repair()
  }

  /** @param {NumberedDiff} diff */
  apply (diff) {
    const { version } = diff
    if (this.#pending !== null) {
      if (this.#pending.length < MAX_PENDING) this.#pending.push(diff)
      else this.repair()
    } else if (version !== undefined && this.#version !== undefined && version > this.#version + 1) {
      this.repair()
    } else if (version === undefined || this.#version === undefined || version > this.#version) {
      this.#version = version
      this.#change(diff)
    }
  }

  /** The connection has gone: whatever is asked for is not answered any more. */
  lost () {
    this.#question++
    this.#pending = null
    this.#version = undefined
  }

  /** Asks for all members. Where that fails, so has the connection, or the next diff that does not fit asks again. */
  async repair () {
    const question = ++this.#question
    this.#pending = []
    try {
      /** @type {Member[]} */
      const members = []
      let page = await this.ask(undefined)
      // diffs that came since the first page was made are applied once more, which does no harm
      const { version } = page
      while (question === this.#question) {
        members.push(...page.members)
        if (page.cursor === undefined) break
        page = await this.ask(page.cursor)
      }
      if (question !== this.#question) return
      this.#version = version
      this.#replace(members)
      const pending = this.#pending ?? []
      this.#pending = null
      for (const diff of pending) this.apply(diff)
    } catch {
      if (question === this.#question) this.#pending = null
    }
  }

  /** @param {PresenceDiff} diff */
  #change ({ joined = [], left = [], changed = [] }) {
    for (const id of left) this.members.delete(id)
    for (const member of [...joined, ...changed]) this.members.set(member.id, member)
    this.onChange({ joined, left, changed })
  }

  /** @param {Member[]} members */
  #replace (members) {
    const now = new Map(members.map((member) => [member.id, member]))
    const before = new Map(this.members)
    const diff = {
      joined: members.filter(({ id }) => !before.has(id)),
      left: [...before.keys()].filter((id) => !now.has(id)),
      changed: members.filter((member) => before.has(member.id) && JSON.stringify(before.get(member.id)) !== JSON.stringify(member))
    }
    if (diff.joined.length + diff.left.length + diff.changed.length > 0) this.#change(diff)
  }
}
