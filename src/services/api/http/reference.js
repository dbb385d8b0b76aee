import { fileURLToPath } from 'node:url'
import { folderOf, REFERENCE } from '../../../base/process/installed.js'
import { createStaticFiles } from '../../../base/process/static-files.js'

/**
 * `/docs/`: openapi.json as a page on which operations can be tried, in development only. Its library is a development
 * dependency; nothing is loaded from other servers.
 *
 * @typedef {(server: import('fastify').FastifyInstance) => void} AddReference
 */

/** The library sets styles of its elements by script. */
const POLICY = [
  'default-src \'self\'', 'style-src \'self\' \'unsafe-inline\'', 'img-src \'self\' data:', 'base-uri \'none\'',
  'form-action \'none\'', 'frame-ancestors \'none\''
].join('; ')
const PAGE = fileURLToPath(new URL('./page/', import.meta.url))
/** Files of the library by their path on the page. */
const VENDOR = new Set(['/vendor/swagger-ui.css', '/vendor/swagger-ui-bundle.js'])

/** @returns {AddReference | undefined} undefined: the library is not installed, as after `npm ci --omit=dev` */
export function createReference () {
  const library = folderOf(REFERENCE)
  if (library === undefined) return undefined
  const page = createStaticFiles(PAGE, { etag: true, maxAge: 0 })
  const vendor = createStaticFiles(library, { etag: true, maxAge: 86_400 })

  return (server) => {
    const config = /** @type {any} */ ({ operation: 'docs', open: true })
    server.get('/docs', { config }, (_request, reply) => reply.redirect('/docs/'))
    server.get('/docs/*', { config }, (request, reply) => {
      const { raw } = request
      raw.url = (raw.url ?? '').slice('/docs'.length)
      reply.hijack()
      reply.raw.setHeader('content-security-policy', POLICY)
      reply.raw.setHeader('x-content-type-options', 'nosniff')
      reply.raw.setHeader('referrer-policy', 'no-referrer')
      const missing = () => { reply.raw.writeHead(404).end() }
      if (!raw.url.startsWith('/vendor/')) return page(raw, reply.raw, missing)
      if (!VENDOR.has(raw.url)) return missing()
      raw.url = raw.url.slice('/vendor'.length)
      vendor(raw, reply.raw, missing)
    })
  }
}
