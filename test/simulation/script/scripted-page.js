import '../parts/loaded.js'
import { connect } from 'inkcast-client'
import { tokenOf, URL } from '../parts/page.js'

/** A page with inkcast-client, in a process of its own. */
export class ScriptedPage {
  /** @type {ReturnType<typeof connect>} */
  client = /** @type {any} */ (undefined)

  /**
   * @param {import('./scripted-cluster.js').ScriptedCluster} cluster
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {string} uid
   * @param {(page: ScriptedPage) => Omit<import('inkcast-client').ClientOptions, 'token'>} [options] of inkcast-client
   */
  constructor (cluster, process, uid, options = () => ({})) {
    this.cluster = cluster
    this.process = process
    this.uid = uid
    process.enter('open page', () => {
      this.client = connect(URL, { token: tokenOf(uid), socket: { transports: ['websocket'] }, ...options(this) })
    })
  }

  /**
   * @param {string} guid
   * @param {object} [options] of `open`
   * @returns {Promise<import('../../../client/document/document.js').Document>}
   */
  open (guid, options) { return this.cluster.act(this.process, () => this.client.open(guid, options)) }

  /** Something that the page does, as for a click. @param {() => unknown} run */
  enter (run) { this.process.enter('click', run) }

  /** All its connections break at once. */
  cut () {
    const { network } = this.cluster.world
    for (const line of network.lines) if (line.owner === this.process) network.cut(line, { here: 1, there: 1 })
  }
}
