import { connect } from '/client/index.js'
import { tokenFor } from './token.js'

const NO_SERVICE = 'The document service does not respond. ' +
  'With Kafka it is a separate program: node examples/document-service/main.js'

/**
 * Opens a document and keeps it up to date: the document service returns it with its position in the log, and the
 * gateway sends all later records.
 *
 * @typedef {object} Listeners
 * @property {(loaded: { document: any, kept?: boolean }) => void} onLoad
 * @property {(problem: string, options?: { quiet: boolean }) => void} onProblem '' when it is solved; quiet: nothing is
 *   wrong
 * @property {(state: string, reason: Error | null) => void} onState of the connection
 *
 * @param {{ guid: string, me: import('./me.js').Me, state: Record<string, any> }} what state: what others see of the
 *   person
 * @param {Listeners} listeners
 * @param {{ source: import('./token.js').TokenSource, path: string, transports?: string[], msgpack?: boolean }} options
 *   source of the token; path of the gateway; msgpack instead of JSON
 */
export async function openLink ({ guid, me, state }, listeners, { source, path, transports, msgpack = false }) {
  const { onLoad, onProblem, onState } = listeners
  // another build of the same library, which is not a module
  const other = '/client/socket.io.msgpack.min.js'
  if (msgpack) await import(other)
  const client = connect(location.origin, {
    id: me.id,
    token: tokenFor(source, guid, me.id),
    socket: { path },
    ...(transports && { transports }),
    ...(msgpack && { io: /** @type {any} */ (globalThis).io })
  })
  client.on('state', onState)

  /** @param {{ signal: AbortSignal }} request */
  async function load ({ signal }) {
    const response = await fetch(`/documents/${encodeURIComponent(guid)}`, { signal }).catch(() => null)
    signal.throwIfAborted()
    if (!response?.ok) {
      onProblem(NO_SERVICE)
      throw new Error(NO_SERVICE) // the client tries again
    }
    const answer = await response.json()
    onProblem(
      answer.kept === false
        ? 'No document service runs here, so this document is not stored: changes reach only the pages that have it open.'
        : '',
      { quiet: true }
    )
    onLoad(answer)
    return answer.position ?? undefined
  }

  const doc = await client.open(guid, { load, state, echo: true })
  return { client, doc }
}
