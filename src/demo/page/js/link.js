import { connect } from '/client/index.js'

/** Before the document is asked for again when its service does not answer, ms. */
const PAUSE = 2000

/**
 * Where a document comes from and how it stays up to date: the document service has it and says where the log stood;
 * from there on the gateway sends what happens. When the gateway cannot bridge a gap (`resync`), the document is loaded
 * again.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {import('./me.js').Me} dependencies.me
 * @param {(loaded: { document: any, kept?: boolean }) => void} dependencies.onLoad
 * @param {(problem: string) => void} dependencies.onProblem '' when there is none any more
 * @param {(state: string, reason: Error | null) => void} dependencies.onState of the connection
 * @param {string[]} [dependencies.transports]
 * @param {boolean} [dependencies.msgpack] speak msgpack rather than JSON
 */
export async function openLink ({ guid, me, onLoad, onProblem, onState, transports, msgpack = false }) {
  // another build of the same library, which is no module
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
            ? 'No document service runs here, so nobody keeps this document: changes reach whoever has it open.'
            : ''
        )
        onLoad(answer)
        return answer.position
      }
      onProblem(
        'The document service does not answer. With Kafka it is a program of its own: node examples/document-service/main.js'
      )
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
  }

  /** One at a time; asked for meanwhile, it is loaded once more. @type {Promise<unknown> | null} */
  let loading = null
  const reload = () => loading ??= load().finally(() => { loading = null })

  const position = await load()
  const doc = await client.open(guid, { position, state: me, echo: true })
  doc.on('resync', reload)
  // it was not known where to begin: something may have happened between
  if (position === null && (doc.position?.offset ?? 0) > 0) await reload()
  return { client, doc, reload }
}
