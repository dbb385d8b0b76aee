import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createStaticFiles } from '../../src/base/process/static-files.js'

/** The module `/client/connection/io.js` for pages: without a bundler they cannot resolve `socket.io-client`. */
const LIBRARY = 'export { io } from \'../socket.io.esm.min.js\'\n'

/**
 * Serves the client to pages without a build step, in development only: the files of `client/`, and the bundles of
 * socket.io-client beside them. `import { connect } from '/client/index.js'`.
 *
 * @returns {(req: import('http').IncomingMessage, res: import('http').ServerResponse, next: () => void) => void}
 *   handles paths below /client
 */
export function createClientFiles () {
  const modules = createStaticFiles(fileURLToPath(new URL('../../client/', import.meta.url)), { dev: true })
  const bundles = createStaticFiles(
    path.join(path.dirname(createRequire(import.meta.url).resolve('socket.io/package.json')), 'client-dist'),
    { dev: true }
  )
  return (req, res, next) => {
    req.url = req.url?.slice('/client'.length)
    if (req.url?.split('?')[0] === '/connection/io.js')
      return void res.writeHead(200, { 'content-type': 'text/javascript' }).end(LIBRARY)
    modules(req, res, () => bundles(req, res, next))
  }
}
