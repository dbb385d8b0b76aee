import { DocumentChecker } from '../oracle/document-checker.js'
import { PresenceChecker } from '../oracle/presence-checker.js'
import { PUBLIC } from './cluster.js'
import { signToken } from './tokens.js'

export const URL = `http://${PUBLIC}`
/** Ways of the transport. */
export const WAYS = [['websocket'], ['polling', 'websocket'], ['polling']]

/** @param {string} uid @returns {string} */
export const tokenOf = (uid) => signToken({ sub: uid })

/** Prefix of the logs of users, among the records of a service. */
export const OF_USERS = '@'
/** @param {string} uid @returns {string} the name of the user's log among the records of a service */
export const logOf = (uid) => `${OF_USERS}${uid}`

/**
 * @typedef {object} PageOptions
 * @property {string} uid
 * @property {string[]} guids
 * @property {string[]} edited of the guids: a page with the outbox edits the first one
 * @property {ReadonlySet<string>} present of the guids: the page takes part in their presence
 * @property {boolean} readsLog of the user
 * @property {import('./outbox-store.js').OutboxStores} stores
 * @property {import('../oracle/answers.js').Answers} answers
 * @property {() => boolean} mayResync
 * @property {boolean} isSlow it may read too little
 * @property {(log: string) => [writer: string, number: number][]} load
 * @property {(guid: string, writer: string, number: number) => boolean} isLost
 * @property {(guid: string) => boolean} mayComeAgain whether its records may be published late or again
 * @property {(traceId: string) => void} acknowledged called when the page acknowledges a record that asks for it
 * @property {(traceId: string) => void} taken called when the page acknowledges a record, as it does with each one
 *
 * @typedef {{ checker: PresenceChecker, state: object | undefined, isListed: boolean }} Part in the presence of a
 *   document; the state: the newest one of this page
 */

/** A tab that has documents open. */
export class Page {
  /** @type {string} */
  name
  /** @type {Map<string, DocumentChecker>} */
  documents = new Map()
  /** By guid. @type {Map<string, Part>} */
  presence = new Map()
  /** Documents of which it got a record that no log keeps. @type {Set<string>} */
  waved = new Set()
  /** @type {DocumentChecker | undefined} */
  log
  /** Whether it is on a plain WebSocket. */
  isPlain = false
  /** Whether it is on MQTT. */
  isMqtt = false

  /** @param {import('../world/sim-process.js').SimProcess} process @param {PageOptions} options */
  constructor (process, options) {
    this.process = process
    this.options = options
    const { name } = process
    this.name = name
    this.uid = options.uid
    process.isClient = true
    for (const guid of options.guids) {
      this.documents.set(guid, this.checkerOf(`${name} in ${guid}`, guid))
      if (!options.present.has(guid)) continue
      const checker = new PresenceChecker(`${name} in ${guid}`, this.violation, options.mayResync, options.isSlow)
      const state = process.drawn.chance(0.7) ? { of: name, number: 0 } : undefined
      this.presence.set(guid, { checker, state, isListed: true })
    }
    if (options.readsLog) this.log = this.checkerOf(`${name} in the log of ${this.uid}`, logOf(this.uid))
  }

  violation = (/** @type {string} */ sentence) => this.process.world.violation(sentence)

  /** @param {string} name @param {string} log @returns {DocumentChecker} */
  checkerOf (name, log) {
    const { mayResync, load, isLost, mayComeAgain } = this.options
    return new DocumentChecker(name, this.violation, mayResync, () => load(log),
      (writer, number) => isLost(log, writer, number), () => mayComeAgain(log))
  }

  /** Whether it has a connection, and has joined everything. @returns {boolean} */
  get isConnected () { throw new Error('of a subclass') }

  /** @returns {string | undefined} */
  get connectionId () { throw new Error('of a subclass') }

  /** A record asks for a receipt. @param {string} traceId @param {(() => void) | undefined} acknowledge */
  acknowledge (traceId, acknowledge) {
    if (acknowledge === undefined) return
    this.options.acknowledged(traceId)
    acknowledge()
  }

  /** Members that it shows. @param {string} guid @returns {Iterable<import('../oracle/presence-checker.js').Member>} */
  members (guid) { throw new Error(`of a subclass: ${guid}`) }

  /**
   * All logs that it follows, with the names of the service for them.
   * @returns {[log: string, checker: DocumentChecker][]}
   */
  get logs () {
    return this.log === undefined ? [...this.documents] : [...this.documents, [logOf(this.uid), this.log]]
  }

  /** In a turn of the page. @param {string} guid @param {object} state */
  setState (guid, state) {
    const part = this.presence.get(guid)
    if (part === undefined) return
    part.state = state
    this.sendState(guid, part)
  }

  /** @param {string} guid @param {Part} part */
  sendState (guid, part) { throw new Error(`of a subclass: ${guid} ${part}`) }

  /** The tab is closed in order; nothing of it may run later. */
  close () { throw new Error('of a subclass') }
}
