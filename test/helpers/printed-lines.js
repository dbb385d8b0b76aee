import { codeBlocks } from './code-blocks.js'

/**
 * The lines of docs/protocol.md that a stock client needs, as they are printed there, for several documents over one
 * connection.
 *
 * The lines are a program for a page with one document. Each document gets such a program; its socket is a view of the
 * one that all of them share.
 */

const FILE = 'docs/protocol.md'
const HEADING = 'let epoch, offset'
/** The document and the event that the lines have. */
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
 * @param {string} [options.event] that records come as; default: that of the lines
 * @param {(auth: (tell: (said: object) => void) => void) => import('socket.io-client').Socket} options.connect with
 *   this `auth`
 * @param {(guid: string, payload: any, meta: any) => void} options.show
 * @param {(guid: string) => void} [options.reload]
 * @param {(done: () => void, ms: number) => unknown} [options.wait] default: setTimeout
 */
export function runPrintedLines ({ guids, event = EVENT, connect, show, reload = () => {}, wait = setTimeout }) {
  /** What each program says in a handshake. @type {Map<string, (send: (said: any) => void) => void>} */
  const auths = new Map()
  const socket = connect((tell) => {
    /** @type {Record<string, unknown>} */
    const documents = {}
    for (const [guid, auth] of auths) auth((said) => { documents[guid] = said.documents[GUID] })
    tell({ documents })
  })
  for (const guid of guids) {
    /** @type {any} of the record that is being told */
    let meta
    /** @type {Record<string, (handler: Function) => void>} how events are told to a page that knows one document */
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
