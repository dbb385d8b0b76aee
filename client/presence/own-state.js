/** This client's part in the presence of a document: whether it takes part, and the state that others see. */
export class OwnState {
  /** The latest one. @type {object | undefined} */
  #state
  /** The one in the latest join. @type {object | undefined} */
  #offered
  /** The one that the gateway accepted last; before that, the one of `open`. @type {object | undefined} */
  #accepted

  /** @param {{ state?: object | undefined, presence?: boolean | 'watch' | undefined }} options */
  constructor ({ state, presence = state !== undefined }) {
    this.#state = this.#accepted = state
    /** Whether this client takes part in the presence, or watches it. @type {boolean | 'watch'} */
    this.listed = presence
    this.idle = false
  }

  get current () { return this.#state }

  /** The fields of a join. @returns {{ state?: object, members?: true | 'watch', idle?: true }} */
  get fields () {
    const idle = this.idle && { idle: /** @type {const} */ (true) }
    if (this.#state !== undefined) return { state: this.#state, ...idle }
    return this.listed ? { members: this.listed, ...idle } : {}
  }

  /** Called when a join is about to be sent. */
  offer () { this.#offered = this.#state }

  /** Called when the gateway has accepted the join. */
  accepted () { this.#accepted = this.#offered }

  /**
   * Called when the gateway has refused a join: goes back to the accepted state.
   * @returns {boolean} false: the state is not the cause
   */
  refused () {
    if (this.#offered === this.#accepted) return false
    if (this.#state === this.#offered) this.#state = this.#accepted
    return true
  }

  /**
   * @param {object} state
   * @returns {{ accept: () => void, refuse: () => void }} what the gateway's answer changes
   */
  set (state) {
    const { listed } = this
    this.#state = state
    return {
      accept: () => { this.#accepted = state },
      refuse: () => {
        if (this.#state !== state) return
        this.#state = this.#accepted
        this.listed = listed
      }
    }
  }
}
