import { hasServices } from '../../../src/config/load.js'

/**
 * @typedef {object} DemoDocuments
 * @property {import('./documents.js').LoadDocument} load
 * @property {(uplink: import('../../../src/log/publish/uplink.js').Uplink, bus: Parameters<typeof
 *   import('./uplink.js').createDocumentsUplink>[0]['bus']) => import('../../../src/log/publish/uplink.js').Uplink}
 *   receiveFrom
 *   the uplink without the messages of the documents, which they receive
 */

/**
 * The documents of the demo page, for the process that serves it. In development only.
 *
 * @param {import('../../../src/config/load.js').Config} config
 * @param {import('../../../src/base/common/clock.js').Clock} clock
 * @param {() => Promise<import('./documents.js').Documents>} [keep] where they are kept without a service of the
 *   application; absent: nowhere
 * @returns {Promise<DemoDocuments>}
 */
export async function openDocuments (config, clock, keep) {
  if (hasServices(config)) {
    const { createDocumentsOverHttp } = await import('./over-http.js')
    return { load: createDocumentsOverHttp(config.extensionSettings, clock), receiveFrom: (uplink) => uplink }
  }
  // a certificate of this machine is often made for another name, and `fetch` refuses it
  if (keep === undefined || config.api.tls !== undefined)
    return { load: (await import('./documents.js')).loadUnkept, receiveFrom: (uplink) => uplink }
  const [documents, { createDocumentsUplink }] = await Promise.all([keep(), import('./uplink.js')])
  return {
    load: documents.load,
    receiveFrom: (uplink, bus) => createDocumentsUplink({ uplink, documents, bus })
  }
}
