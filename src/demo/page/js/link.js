import { connect } from '/client/index.js'

/** Delay before the document is requested again when its service does not respond, ms. */
const PAUSE = 2000

/**
 * Loads a document and keeps it up to date: the document service returns it with the end of the log, and the gateway
 * sends all later records. When the gateway cannot bridge a gap (`resync`), the document is loaded again.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {import('./me.js').Me} dependencies.me
 * @param {(loaded: { document: any, kept?: boolean }) => void} dependencies.onLoad
 * @param {(problem: string) => void} dependencies.onProblem '' when it is solved
 * @param {(state: string, reason: Error | null) => void} dependencies.onState of the connection
 * @param {string[]} [dependencies.transports]
 * @param {boolean} [dependencies.msgpack] use msgpack instead of JSON
 */
export async function openLink ({ guid, me, onLoad, onProblem, onState, transports, msgpack = false }) {
  // another build of the same library, which is not a module
  const other = '/client/socket.io.msgpack.min.js'
  if (msgpack) await import(other)
  const client = connect(location.origin, {
    id: me.id,
    ...(transports && { transports }),
    ...(msgpack && { io: /** @type {any} */ (globalThis).io })
  })
  client.on('state', onState)

  /** @returns {Promise<{ epoch: string, offset: number } | null>} */
  async function load () {
    for (;;) {
      const answer = await fetch(`/documents/${encodeURIComponent(guid)}`).then(
        (response) => (response.ok ? response.json() : null),
        () => null
      )
      if (answer !== null) {
        onProblem(
          answer.kept === false
            ? 'No document service runs here, so this document is not stored: changes reach only those who have it open.'
            : ''
        )
        onLoad(answer)
        return answer.position
      }
      onProblem(
        'The document service does not respond. With Kafka it is a separate program: node examples/document-service/main.js'
      )
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
  }

  /** The load in progress, shared by all callers. @type {Promise<unknown> | null} */
  let loading = null
  const reload = () => loading ??= load().finally(() => { loading = null })

  const position = await load()
  const doc = await client.open(guid, { position, state: me, echo: true })
  doc.on('resync', reload)
  // the position was unknown: records between the load and the join may be missing
  if (position === null && (doc.position?.offset ?? 0) > 0) await reload()
  return { client, doc, reload }
}
