import { connect } from 'inkcast-client'
import { Page, tokenOf, URL, WAYS } from './page.js'

/** docs/client.md: the time of a request, connection and answer together, ms. */
const REQUEST = 10_000

/** A page with inkcast-client, which edits documents through its outbox. */
export class OwnPage extends Page {
  /** Edits that were made, of these kept by the outbox, and accepted. */
  made = 0
  stored = 0
  accepted = 0
  /** By guid. @type {Map<string, import('../../../client/document/document.js').Document>} */
  #open = new Map()
  /** @type {import('../../../client/client.js').Client | undefined} */
  #client

  /** @param {import('../world/sim-process.js').SimProcess} process @param {import('./page.js').PageOptions} options */
  constructor (process, options) {
    super(process, options)
    const transports = process.drawn.pick(WAYS)
    process.enter('open page', () => this.#start(transports))
  }

  get isConnected () {
    return this.#client?.state === 'connected' && this.#open.size === this.documents.size &&
      [...this.#open.values()].every(({ live }) => live) && (this.log === undefined || this.log.position !== null)
  }

  get connectionId () { return this.#client?.connectionId }

  /** @param {string} guid */
  members (guid) { return this.#open.get(guid)?.presence.values() ?? [] }

  close () { this.#client?.close() }

  /** @param {string[]} transports */
  #start (transports) {
    const { uid, name, options: { stores } } = this
    const store = stores.of(uid, this.process, ({ writer }) => { if (writer === name) this.stored++ })
    const client = this.#client = connect(URL, {
      token: tokenOf(uid), outbox: { user: uid, store }, socket: { transports }, id: name
    })
    if (this.log !== undefined) this.#followLog(client.user, this.log)
    for (const guid of this.documents.keys()) this.#openDocument(client, guid)
  }

  /** @param {import('../../../client/client.js').Client} client @param {string} guid */
  #openDocument (client, guid) {
    const checker = /** @type {import('../oracle/document-checker.js').DocumentChecker} */ (this.documents.get(guid))
    const part = this.presence.get(guid)
    const state = part?.state
    client.open(guid, {
      offline: true, echo: true, ...part && { presence: true, ...state && { state } }
    }).then((doc) => {
      this.#open.set(guid, doc)
      doc.on('record', (/** @type {any} */ { writer, number }, meta, acknowledge) => {
        this.acknowledge(meta.traceId, acknowledge)
        checker.shown(writer, number, /** @type {number} */ (meta.offset))
      })
      doc.on('wave', () => this.waved.add(guid))
      doc.on('resync', ({ position, reason }) => { if (position !== null) checker.resync(position, reason) })
      doc.on('joined', ({ position }) => { if (position !== null) checker.joined(position) })
      if (part === undefined) return
      this.#followPresence(doc, part)
      if (part.state !== state) this.sendState(guid, part)
    }, (error) => this.violation(`${this.name}: ${guid} does not open: ${error.message}`))
  }

  /**
   * @param {import('../../../client/user/user-log.js').UserLog} user
   * @param {import('../oracle/document-checker.js').DocumentChecker} log
   */
  #followLog (user, log) {
    user.on('note', (/** @type {any} */ { writer, number }, meta) => {
      log.shown(writer, number, /** @type {any} */ (meta).user.offset)
    })
    user.on('resync', ({ position, reason }) => { if (position !== null) log.resync(position, reason) })
    user.on('open', ({ position }) => log.joined(position))
  }

  /**
   * Checks that the event `presence` leads from one list to the next.
   * @param {import('../../../client/document/document.js').Document} doc
   * @param {import('./page.js').Part} part
   */
  #followPresence (doc, { checker }) {
    doc.on('presence', ({ joined, left, changed, count }) => {
      checker.updates++
      const { members } = checker
      for (const { uid } of left)
        if (!members.delete(uid)) this.violation(`${checker.name}: ${uid} leaves, and was not there`)
      for (const member of joined) {
        if (members.has(member.uid)) this.violation(`${checker.name}: ${member.uid} joins, and was there`)
        members.set(member.uid, member)
      }
      for (const member of changed) {
        if (!members.has(member.uid)) this.violation(`${checker.name}: ${member.uid} has changed, and was not there`)
        members.set(member.uid, member)
      }
      if (members.size !== count) this.violation(`${checker.name}: ${members.size} members with the count ${count}`)
    })
  }

  /** @param {string} guid @param {import('./page.js').Part} part */
  sendState (guid, part) {
    const { state } = part
    const doc = this.#open.get(guid)
    if (state === undefined || doc === undefined) return
    this.options.answers.to(this.process, `a state in ${guid}`, REQUEST, doc.setState(state)).catch((error) => {
      if (error.code === 'closed' && this.#client?.state === 'closed') return
      if (!error.retryable && error.code !== 'disconnected')
        return this.violation(`${this.name}: a state in ${guid} is refused: ${error.code} ${error.message}`)
      this.process.clock.timer(500, () => { if (part.state === state) this.sendState(guid, part) })
    })
  }

  /** Makes an edit in its edited document. In a turn of its process. */
  edit () {
    const doc = this.#open.get(this.options.edited[0])
    if (doc === undefined) return
    const number = ++this.made
    doc.send({ writer: this.name, number }, { event: 'record', queue: true }).then(
      () => { this.accepted++ },
      (error) => {
        if (error.code === 'closed' && this.#client?.state === 'closed') return
        this.violation(`${this.name}: edit ${number} is refused: ${error.code} ${error.message}`)
      }
    )
  }
}
