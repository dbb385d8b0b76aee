import WebSocket from 'ws'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { Page, tokenOf } from './page.js'
import { PLAIN_URL } from './plain-line.js'

/** The program of docs/websocket.md, and the document in it. */
const [FILE, BEGINS, GUID] = ['docs/websocket.md', 'new WebSocket(', '\'board\'']

/** @returns {string} */
function printedProgram () {
  const found = codeBlocks().filter(({ file, language, code }) => file === FILE && language === 'js' && code.includes(BEGINS))
  if (found.length !== 1) throw new Error(`${FILE} has ${found.length} programs with ${BEGINS}`)
  return found[0].code
}
const PROGRAM = printedProgram()

/** A device with one document, which runs the printed program of docs/websocket.md. */
export class DevicePage extends Page {
  isPlain = true
  /** @type {WebSocket | undefined} */
  #ws
  /** @type {string | undefined} */
  #id
  /** Whether this connection has its document open. */
  #isJoined = false
  /** Of the last record. @type {any} */
  #meta

  /** @param {import('../world/sim-process.js').SimProcess} process @param {import('./page.js').PageOptions} options */
  constructor (process, options) {
    super(process, { ...options, guids: [process.drawn.pick(options.guids)], present: new Set(), readsLog: false })
    process.enter('open page', () => this.#open([...this.documents.keys()][0]))
  }

  get isConnected () { return this.#isJoined }
  get connectionId () { return this.#id }

  members () { return [] }
  close () { this.#ws?.close(1000) }

  /** @param {string} guid */
  #open (guid) {
    const page = this
    class WebSocketOfPage extends WebSocket {
      /** @param {string} _address of the printed program @param {string[]} protocols */
      constructor (_address, protocols) {
        super(`${PLAIN_URL}?id=${page.name}&token=${tokenOf(page.uid)}`, protocols)
        page.#opened(this)
      }
    }
    const checker = /** @type {import('../oracle/document-checker.js').DocumentChecker} */ (this.documents.get(guid))
    const console = {
      log: (/** @type {any} */ { writer, number }) => {
        const { event, offset } = this.#meta
        if (event === 'record') checker.shown(writer, number, offset)
      }
    }
    new Function('WebSocket', 'console', PROGRAM.replaceAll(GUID, JSON.stringify(guid)))(WebSocketOfPage, console)
  }

  /** What the program gets, before the program. @param {WebSocket} ws */
  #opened (ws) {
    this.#ws = ws
    ws.on('error', () => {})
    ws.on('close', () => { if (ws === this.#ws) this.#isJoined = false })
    ws.on('message', (data) => this.#receive(JSON.parse(String(data))))
  }

  /** @param {any} message */
  #receive ({ id, event, payload, meta, ack }) {
    const [[guid, checker]] = this.documents
    if (event === 'gateway:connected') {
      this.#id = payload.id
      checker.connected()
    }
    if (event === 'doc:resync') checker.resync(payload.position, payload.reason)
    if (id === 1 && payload.ok) {
      this.#isJoined = true
      checker.joined(payload.position)
    }
    if (meta?.guid !== guid) return
    this.#meta = { event, offset: meta.offset }
    if (event === 'wave') this.waved.add(guid)
    if (event !== 'record') return
    checker.arrived(meta.offset)
    if (ack !== undefined) this.acknowledge(meta.traceId, () => {})
  }
}
