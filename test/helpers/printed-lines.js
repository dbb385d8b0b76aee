import { codeBlocks } from './code-blocks.js'

/**
 * The code of docs/protocol.md for a stock client, run as printed, for several documents over one connection.
 *
 * The printed code is a program for a page with one document. Each document gets a program of its own; its socket is a
 * view of the shared one.
 */

const FILE = 'docs/protocol.md'
const HEADING = 'let epoch, offset'
/** The document and the event in the printed code. */
const [GUID, EVENT] = ['minutes', 'message']

/** @returns {string} */
function printedLines () {
  const found = codeBlocks().filter(
    ({ file, language, code }) => file === FILE && language === 'js' && code.includes(HEADING)
  )
  if (found.length !== 1) throw new Error(`${FILE} has ${found.length} blocks with ${HEADING}`)
  return found[0].code
}

/** @type {(io: Function, show: (payload: any) => void, reload: () => void, setTimeout: Function) => void} */
const program = /** @type {any} */ (
  new Function('io', 'show', 'reload', 'setTimeout', printedLines().replace(/^import .*$/m, ''))
)

/**
 * @param {object} options
 * @param {string[]} options.guids
 * @param {string} [options.event] event of the records; default: that of the printed code
 * @param {(auth: (tell: (said: object) => void) => void) => import('socket.io-client').Socket} options.connect with
 *   this `auth`
 * @param {(guid: string, payload: any, meta: any) => void} options.show
 * @param {(guid: string) => void} [options.reload]
 * @param {(done: () => void, ms: number) => unknown} [options.wait] default: setTimeout
 */
export function runPrintedLines ({ guids, event = EVENT, connect, show, reload = () => {}, wait = setTimeout }) {
  /** Handshake data of each program. @type {Map<string, (send: (said: any) => void) => void>} */
  const auths = new Map()
  const socket = connect((tell) => {
    /** @type {Record<string, unknown>} */
    const documents = {}
    for (const [guid, auth] of auths) auth((said) => { documents[guid] = said.documents[GUID] })
    tell({ documents })
  })
  for (const guid of guids) {
    /** @type {any} of the record that is being shown */
    let meta
    /** @type {Record<string, (handler: Function) => void>} adapters of events for a page with one document */
    const listen = {
      [EVENT]: (handler) => socket.on(event, (payload, own) => {
        if (own.guid !== guid) return
        meta = own
        handler(payload, own)
      }),
      connect_error: (handler) => socket.on('connect_error', (error) => handler(error)),
      'gateway:disconnect': (handler) => socket.on('gateway:disconnect', (told) => handler(told))
    }
    const view = {
      on: (/** @type {string} */ name, /** @type {Function} */ handler) => {
        if (Object.hasOwn(listen, name)) listen[name](handler)
        else socket.on(name, (told) => { if (told.guid === guid) handler(told) })
      },
      connect: () => { socket.connect() },
      disconnect: () => {
        socket.disconnect()
        return view
      }
    }
    const io = (/** @type {string} */ _url, /** @type {{ auth: any }} */ { auth }) => {
      auths.set(guid, auth)
      return view
    }
    program(io, (payload) => show(guid, payload, meta), () => reload(guid), wait)
  }
  return socket
}
