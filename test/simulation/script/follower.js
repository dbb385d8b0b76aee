import { tokenOf } from '../parts/page.js'

/** Between a handshake that is refused for now and the next one, ms. */
const AGAIN = 1000

/**
 * A page that follows documents through its reconnects, as docs/protocol.md asks of clients.
 *
 * @typedef {object} Follower
 * @property {import('./scripted-client.js').ScriptedClient} page
 * @property {Map<string, unknown[]>} values that it has shown, by document
 * @property {{ guid: string, reason: string }[]} resyncs
 */

/**
 * @param {import('./scripted-cluster.js').ScriptedCluster} cluster
 * @param {string} uid
 * @param {readonly string[]} guids
 * @param {Omit<import('./scripted-client.js').ClientOptions, 'auth'>} [options]
 * @returns {Promise<Follower>} it has joined the documents
 */
export async function follow (cluster, uid, guids, options) {
  /** @type {Record<string, { epoch: string, offset: number } | null>} */
  const documents = Object.fromEntries(guids.map((guid) => [guid, null]))
  /** @type {Map<string, unknown[]>} */
  const values = new Map(guids.map((guid) => [guid, []]))
  /** @type {{ guid: string, reason: string }[]} */
  const resyncs = []
  const page = cluster.open(uid, { ...options, auth: (tell) => tell({ token: tokenOf(uid), documents }) })
  const socket = await cluster.until(() => page.socket)
  socket?.on('connect_error', () => {
    if (!socket.active) page.process.clock.timer(AGAIN, () => socket.connect())
  })
  socket?.on('doc:joined', ({ guid, position }) => { documents[guid] = position })
  socket?.on('doc:resync', ({ guid, position, reason }) => {
    documents[guid] = position
    resyncs.push({ guid, reason })
  })
  socket?.on('message', (value, { guid, offset }) => {
    const position = documents[guid]
    if (position !== null) documents[guid] = { ...position, offset }
    values.get(guid)?.push(value)
  })
  await cluster.until(() => page.connected && Object.values(documents).every((position) => position !== null),
    { message: () => page.failures })
  return { page, values, resyncs }
}
