import { createRequire } from 'node:module'
import path from 'node:path'

/** The module `/client/connection/io.js` for pages: without a bundler they cannot resolve `socket.io-client`. */
const LIBRARY = 'export { io } from \'../socket.io.esm.min.js\'\n'

/**
 * Serves the client to pages without a build step, in development only: the files of `client/`, and the bundles of
 * socket.io-client beside them. `import { connect } from '/client/index.js'`.
 *
 * @param {Pick<import('./index.js').Inkcast, 'createStaticFiles' | 'ROOT'>} inkcast
 * @returns {(req: import('http').IncomingMessage, res: import('http').ServerResponse, next: () => void) => void}
 *   handles paths below /client
 */
export function createClientFiles ({ createStaticFiles, ROOT }) {
  const modules = createStaticFiles(path.join(ROOT, 'client'), { dev: true })
  const bundles = createStaticFiles(
    path.join(path.dirname(createRequire(path.join(ROOT, 'package.json')).resolve('socket.io/package.json')), 'client-dist'),
    { dev: true }
  )
  return (req, res, next) => {
    req.url = req.url?.slice('/client'.length)
    if (req.url?.split('?')[0] === '/connection/io.js')
      return void res.writeHead(200, { 'content-type': 'text/javascript' }).end(LIBRARY)
    modules(req, res, () => bundles(req, res, next))
  }
}
