import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRenderedDocs } from './rendered-docs.js'
import { createStaticFiles } from '../../base/process/static-files.js'

/**
 * The files of the status page: its own, uPlot from node_modules, and the docs that it links to. They contain nothing
 * secret: the page asks for its figures with a token.
 */
const POLICY =
  'default-src \'self\'; img-src \'self\' data:; base-uri \'none\'; form-action \'none\'; frame-ancestors \'none\''

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url))
const UPLOT = path.dirname(createRequire(import.meta.url).resolve('uplot/package.json'))
/** Files of uPlot by their path on the page. */
const VENDOR = new Set(['/uPlot.esm.js', '/uPlot.min.css'])

/**
 * @typedef {import('http').IncomingMessage} Request
 * @typedef {import('http').ServerResponse} Response
 * @returns {(req: Request, res: Response, path: string, next: () => void) => void} path: of the request
 */
export function createPageFiles () {
  const page = createStaticFiles(fileURLToPath(new URL('./page/', import.meta.url)), { etag: true, maxAge: 0 })
  const docs = createStaticFiles(DOCS, { etag: true, maxAge: 0, dev: true, extensions: [] })
  const rendered = createRenderedDocs(DOCS)
  const vendor = createStaticFiles(path.join(UPLOT, 'dist'), { etag: true, maxAge: 86_400 })

  return (req, res, pathname, next) => {
    res.setHeader('content-security-policy', POLICY)
    res.setHeader('x-content-type-options', 'nosniff')
    res.setHeader('referrer-policy', 'no-referrer')
    const image = /^\/docs(\/images\/[a-z0-9-]+\.webp)$/.exec(pathname)?.[1]
    if (image !== undefined) {
      req.url = image
      return docs(req, res, next)
    }
    const name = /^\/docs\/([a-z0-9-]+\.md)$/.exec(pathname)?.[1]
    if (name !== undefined) {
      return void rendered(name).then((html) => {
        res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
      }, next)
    }
    if (!pathname.startsWith('/vendor/')) return page(req, res, next)
    req.url = pathname.slice('/vendor'.length)
    if (VENDOR.has(req.url)) vendor(req, res, next)
    else next()
  }
}
