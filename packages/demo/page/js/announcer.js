/** Time without a further change after which a cell's text is read, ms: letters are not read one by one. */
const QUIET = 1500
/** Minimum time between two announcements, ms. */
const PAUSE = 5000
/** Comments read with their text; with more at once only their number is. */
const READ = 1

/**
 * Announces changes of others to screen readers: politely, at most once in five seconds. Many changes are announced as
 * their number.
 *
 * @param {object} dependencies
 * @param {(text: string) => void} dependencies.say
 * @param {(cell: string) => string} dependencies.textOf
 * @param {Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>} [dependencies.timers]
 */
export function createAnnouncer ({ say, textOf, timers = globalThis }) {
  /** @type {Map<string, string>} name of the last author, by cell; bounded by the cells */
  const changed = new Map()
  /** @type {{ name: string, text: string }[]} */
  const comments = []
  /** Announced before anything else. @type {string[]} */
  const urgent = []
  /** @type {any} */
  let timer = null
  /** Time of the first change that is not announced yet. @type {number | null} */
  let since = null
  let earliest = 0

  /** Waits until a text is finished, but does not wait for people who never stop. */
  function plan () {
    const now = Date.now()
    since ??= now
    timers.clearTimeout(timer)
    timer = timers.setTimeout(tell, Math.max(Math.min(now + QUIET, since + PAUSE), earliest) - now)
  }

  function tell () {
    since = null
    earliest = Date.now() + PAUSE
    const parts = [...urgent, ...cellsText(), ...commentsText()]
    urgent.length = 0
    changed.clear()
    comments.length = 0
    if (parts.length > 0) say(parts.join(' '))
  }

  function cellsText () {
    if (changed.size === 0) return []
    const [[cell, name]] = changed
    if (changed.size === 1) return [`${name} changed ${cell} to ${textOf(cell) || 'empty'}.`]
    const names = new Set(changed.values())
    return [`${changed.size} cells changed by ${names.size === 1 ? name : `${names.size} people`}.`]
  }

  function commentsText () {
    if (comments.length === 0) return []
    if (comments.length > READ) return [`${comments.length} new comments.`]
    return comments.map(({ name, text }) => `Comment of ${name}: ${text}`)
  }

  return {
    /** @param {string} cell @param {string} name */
    cell (cell, name) {
      changed.set(cell, name)
      plan()
    },
    /** @param {string} name @param {string} text */
    comment (name, text) {
      if (comments.length <= READ) comments.push({ name, text })
      plan()
    },
    /** @param {string} text */
    note (text) {
      if (!urgent.includes(text) && urgent.length < 5) urgent.push(text)
      plan()
    }
  }
}
