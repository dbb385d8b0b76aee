/**
 * The tokens of the connection: that of a tab that connects, and before it expires a new one of any tab.
 *
 * @typedef {import('./hub-tab.js').HubTab} HubTab
 */
export class SharedTokens {
  #tabs
  #ask
  /** Token of the tab that connected last. @type {string | undefined} */
  #token
  /** The wait for a tab that connects. @type {((token: string | undefined) => void) | null} */
  #onToken = null
  /**
   * The wait for a new token of the tab that was asked.
   * @type {{ tab: HubTab | null, give: (token: string) => void, fail: (error: unknown) => void } | null}
   */
  #refresh = null

  /**
   * @param {object} hub
   * @param {() => HubTab[]} hub.tabs
   * @param {(tab: HubTab) => void} hub.ask asks a tab for a new token
   */
  constructor ({ tabs, ask }) {
    this.#tabs = tabs
    this.#ask = ask
  }

  /** @param {string | undefined} token of a tab that connects */
  offer (token) {
    this.#token = token
    this.#onToken?.(token)
    this.#onToken = null
  }

  /** @param {import('../connection/options.js').TokenReason} reason @returns {Promise<any>} */
  for (reason) {
    if (reason === 'expiring') {
      return new Promise((resolve, reject) => {
        this.#refresh = { tab: null, give: resolve, fail: reject }
        this.#askNext()
      })
    }
    // the token of a tab that connects, not that of one that has waited with it
    return new Promise((resolve) => {
      if (this.#tabs().some(({ auth }) => auth !== undefined)) resolve(this.#token)
      else this.#onToken = resolve
    })
  }

  /** @param {string} token the new one of a tab @returns {boolean} whether a tab was asked for it */
  renewed (token) {
    const refresh = this.#refresh
    this.#refresh = null
    refresh?.give(token)
    return refresh !== null
  }

  /** @param {HubTab} tab that is gone: if it was asked, another one is */
  left (tab) { if (this.#refresh?.tab === tab) this.#askNext() }

  /** The connection is lost. @param {unknown} reason */
  fail (reason) {
    this.#refresh?.fail(reason)
    this.#refresh = null
  }

  #askNext () {
    const [tab] = this.#tabs().filter(({ connected }) => connected)
    if (this.#refresh === null || tab === undefined) return
    this.#refresh.tab = tab
    this.#ask(tab)
  }
}
