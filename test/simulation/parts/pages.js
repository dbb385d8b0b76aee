import { connect } from 'inkcast-client'
import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { processLock } from '../../../client/outbox/locks.js'
import { runPrintedLines } from '../../helpers/printed-lines.js'
import { DocumentChecker } from '../oracle/document-checker.js'
import { PUBLIC } from './cluster.js'
import { signToken } from './tokens.js'

const URL = `http://${PUBLIC}`
const WAYS = [['websocket'], ['polling', 'websocket'], ['polling']]

/**
 * @typedef {object} Page a tab that has documents open
 * @property {import('../world/sim-process.js').SimProcess} process
 * @property {string} name
 * @property {Map<string, DocumentChecker>} documents
 * @property {boolean} isConnected
 */

/** @param {string} uid @returns {string} */
const tokenOf = (uid) => signToken({ sub: uid })

/**
 * @typedef {object} PageOptions
 * @property {string[]} guids
 * @property {string[]} edited of the guids: a page with the outbox edits the first one
 * @property {() => boolean} mayResync
 * @property {(guid: string) => [writer: string, number: number][]} load
 * @property {(guid: string, writer: string, number: number) => boolean} isLost
 */

/** @param {Page} page @param {PageOptions} options */
const checkersOf = (page, { guids, mayResync, load, isLost }) => new Map(guids.map((guid) => [guid, new DocumentChecker(
  `${page.name} in ${guid}`, (sentence) => page.process.world.violation(sentence), mayResync, () => load(guid),
  (writer, number) => isLost(guid, writer, number)
)]))

/**
 * A page with a stock socket.io-client and the lines of docs/protocol.md, as printed.
 * @implements {Page}
 */
export class StockPage {
  isConnected = false

  /**
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {PageOptions} options
   */
  constructor (process, options) {
    this.process = process
    this.name = process.name
    process.isClient = true
    this.documents = checkersOf(this, options)
    const transports = process.drawn.pick(WAYS)
    const isPacked = process.drawn.chance(0.4)
    process.enter('open page', () => this.#open(options.guids, transports, isPacked))
  }

  /** @param {string[]} guids @param {string[]} transports @param {boolean} isPacked */
  #open (guids, transports, isPacked) {
    const token = tokenOf(`user-of-${this.name}`)
    const socket = runPrintedLines({
      guids,
      event: 'record',
      connect: (auth) => io(URL, {
        transports,
        forceNew: true,
        auth: (tell) => auth((said) => tell({ token, client: this.name, ...said })),
        ...isPacked ? { parser: msgpackParser } : {}
      }),
      show: (guid, { writer, number }, { offset }) => this.documents.get(guid)?.shown(writer, number, offset)
    })
    socket.on('doc:joined', ({ guid, position }) => this.documents.get(guid)?.joined(position))
    socket.on('doc:resync', ({ guid, position, reason }) => this.documents.get(guid)?.resync(position, reason))
    socket.on('connect', () => { this.isConnected = true })
    socket.on('disconnect', () => { this.isConnected = false })
  }
}

/**
 * A page with inkcast-client, which edits documents through its outbox.
 * @implements {Page}
 */
export class OwnPage {
  /** Edits that were made, and of these accepted. */
  made = 0
  accepted = 0
  /** @type {import('../../../client/document/document.js').Document[]} */
  #editable = []
  /** @type {import('../../../client/client.js').Client | undefined} */
  #client

  /**
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {PageOptions} options
   */
  constructor (process, options) {
    this.process = process
    this.name = process.name
    process.isClient = true
    this.documents = checkersOf(this, options)
    const transports = process.drawn.pick(WAYS)
    process.enter('open page', () => this.#open(options, transports))
  }

  get isConnected () { return this.#client?.state === 'connected' }

  /** @param {PageOptions} options @param {string[]} transports */
  #open ({ guids, edited }, transports) {
    const uid = `user-of-${this.name}`
    // a lock of its own: those of Node are for the clients of all pages
    const outbox = /** @type {any} */ ({ user: uid, lock: processLock() })
    const client = this.#client = connect(URL, {
      token: tokenOf(uid), outbox, socket: { transports }, id: this.name
    })
    for (const guid of guids) {
      const checker = /** @type {DocumentChecker} */ (this.documents.get(guid))
      client.open(guid, { offline: true, echo: true }).then((doc) => {
        doc.on('record', (/** @type {any} */ { writer, number }, meta) => {
          checker.shown(writer, number, /** @type {number} */ (meta.offset))
        })
        doc.on('resync', ({ position, reason }) => { if (position !== null) checker.resync(position, reason) })
        doc.on('joined', ({ position }) => { if (position !== null) checker.joined(position) })
        if (edited.includes(guid)) this.#editable.push(doc)
      }, (error) => this.process.world.violation(`${this.name}: ${guid} does not open: ${error.message}`))
    }
  }

  /** Makes an edit in one of its documents. In a turn of its process. */
  edit () {
    const doc = this.#editable[0]
    if (doc === undefined) return
    const number = ++this.made
    doc.send({ writer: this.name, number }, { event: 'record', queue: true }).then(
      () => { this.accepted++ },
      (error) => this.process.world.violation(`${this.name}: edit ${number} is refused: ${error.code} ${error.message}`)
    )
  }
}
