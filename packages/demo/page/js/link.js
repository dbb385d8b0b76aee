import { connect } from '/client/index.js'
import { tokenFor } from './token.js'

const NO_SERVICE = 'The document service does not respond. ' +
  'With Kafka it is a separate program: node examples/document-service/main.js'

/**
 * Opens a document and keeps it up to date: the document service returns it with its position in the log, and the
 * gateway sends all later records.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {import('./me.js').Me} dependencies.me
 * @param {Record<string, any>} dependencies.state what others see of the person
 * @param {(loaded: { document: any, kept?: boolean }) => void} dependencies.onLoad
 * @param {(problem: string, options?: { quiet: boolean }) => void} dependencies.onProblem '' when it is solved; quiet:
 *   nothing is wrong
 * @param {(state: string, reason: Error | null) => void} dependencies.onState of the connection
 * @param {import('./token.js').TokenSource} dependencies.source of the token
 * @param {string[]} [dependencies.transports]
 * @param {boolean} [dependencies.msgpack] use msgpack instead of JSON
 */
export async function openLink ({ guid, me, state, onLoad, onProblem, onState, source, transports, msgpack = false }) {
  // another build of the same library, which is not a module
  const other = '/client/socket.io.msgpack.min.js'
  if (msgpack) await import(other)
  const client = connect(location.origin, {
    id: me.id,
    token: tokenFor(source, guid, me.id),
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
