import path from 'node:path'
import { apiUrl, needsToken } from './banner.js'
import { launcherControl } from '../../../packages/demo/control/answers.js'
import { openDocuments } from '../../../packages/demo/documents/open.js'
import { createDemo } from '../../../packages/demo/server.js'

/**
 * The demo page and its documents, which are served by gateways in development.
 *
 * @typedef {object} OwnDemo of a gateway whose process also has the api
 * @property {() => Promise<import('../../../packages/demo/documents/documents.js').Documents>} keepDocuments
 * @property {import('../../../packages/demo/control/answers.js').Ask} [control]
 *
 * @param {import('./services.js').RoleServices} services
 * @param {OwnDemo} [own]
 */
export async function openDemo ({ config, launcher, privatePath, privateRoutes, clock, log }, own) {
  const inLauncher = async () =>
    (await import('../../../packages/demo/documents/in-launcher.js')).documentsInLauncher(path.dirname(privatePath))
  const { load, receiveFrom } =
    await openDocuments(config, clock, own?.keepDocuments ?? (launcher.relaysHandles ? inLauncher : undefined))
  return {
    receiveFrom,
    handler: createDemo({
      apiUrl: apiUrl(config.api),
      needsToken: needsToken(config.api),
      auth: config.auth,
      host: config.gateway.host,
      loadDocument: load,
      control: own?.control ?? launcherControl(launcher),
      inspect: privateRoutes.get('/inspect'),
      log
    })
  }
}
