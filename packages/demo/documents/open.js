import { tokenOf } from '../control/target.js'
import { createDocuments } from './documents.js'
import { documentsInLauncher } from './in-launcher.js'
import { createDocumentsOverHttp } from './over-http.js'
import { createDocumentsUplink } from './uplink.js'

/**
 * @typedef {import('../../../src/log/publish/uplink.js').Uplink} Uplink
 *
 * @typedef {object} DemoDocuments
 * @property {import('./documents.js').LoadDocument} load
 * @property {(uplink: Uplink, bus: Parameters<typeof createDocumentsUplink>[1]['bus']) => Uplink} receiveFrom
 *   the uplink without the messages of the documents, which they receive
 */

/**
 * The documents of the demo page, for the process that serves it.
 *
 * @param {import('../index.js').Inkcast} inkcast
 * @param {import('../index.js').Services} services
 * @param {object} parts
 * @param {import('../index.js').Config} parts.config
 * @param {{ api: () => number }} [parts.ports] of embedded mode: this process keeps the documents
 * @param {string} [parts.directory] of the launcher, which keeps them otherwise; absent: nowhere
 * @param {import('../index.js').Lifecycle} parts.lifecycle
 * @returns {Promise<DemoDocuments>}
 */
export async function openDocuments (inkcast, { log, clock, random }, { config, ports, directory, lifecycle }) {
  const { api, extensionSettings } = config
  if (inkcast.hasServices(config))
    return { load: createDocumentsOverHttp(inkcast, extensionSettings, clock), receiveFrom: (uplink) => uplink }
  // a certificate of this machine is often made for another name, and `fetch` refuses it
  if (api.tls !== undefined || (ports === undefined && directory === undefined)) {
    // each page begins with the initial document
    const load = async () => ({ document: inkcast.createDocument(), position: null, kept: false })
    return { load, receiveFrom: (uplink) => uplink }
  }
  /** @type {import('./documents.js').Documents} */
  let documents
  if (ports === undefined) documents = documentsInLauncher(inkcast, /** @type {string} */ (directory))
  else {
    const apiUrl = () => inkcast.apiUrl({ ...api, port: ports.api() })
    const kept = documents = createDocuments(inkcast, { apiUrl, token: tokenOf(api), log, random })
    lifecycle.onStop('demo documents', () => kept.stop())
  }
  return {
    load: documents.load,
    receiveFrom: (uplink, bus) => createDocumentsUplink(inkcast, { uplink, documents, bus })
  }
}
